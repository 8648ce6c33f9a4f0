package commit

import (
	"math"
	"slices"
	"sort"
)

// segmentRecords is how many records a segment of the time index has at least: few enough to look through, and so many
// that the index of a billion records takes a few megabytes.
const segmentRecords = 2048

// A span holds the times of some records: Unix nanoseconds, both ends included.
type span struct{ from, to int64 }

// noTime is the span of no records.
var noTime = span{math.MaxInt64, math.MinInt64}

func (s span) with(now int64) span { return span{min(s.from, now), max(s.to, now)} }

// overlaps reports whether a time of s may be at from or later and, unless to is 0, before to.
func (s span) overlaps(from, to int64) bool { return s.to >= from && (to == 0 || s.from < to) }

// A timeIndex says of every stretch of the durable log, in whole groups, which times its records have. Times are those
// of keys, and clocks are set back, so a search by halves could miss some; looking through the stretches misses none.
type timeIndex struct{ segments []segment }

type segment struct {
	first uint64 // LSN
	count uint64
	times span
}

// add notes a group that follows those before.
func (x *timeIndex) add(first uint64, count uint32, times span) {
	if n := len(x.segments); n > 0 && x.segments[n-1].count < segmentRecords {
		last := &x.segments[n-1]
		last.count += uint64(count)
		last.times = last.times.with(times.from).with(times.to)
		return
	}
	x.segments = append(x.segments, segment{first, uint64(count), times})
}

// dropThrough forgets the segments that end at an LSN or before it. One that ends there and takes further records stays, so that what
// follows is the same whether it was read after the segment was forgotten or before.
func (x *timeIndex) dropThrough(lsn uint64) {
	n := 0
	for ; n < len(x.segments); n++ {
		s := &x.segments[n]
		if s.first+s.count-1 > lsn || n == len(x.segments)-1 && s.count < segmentRecords {
			break
		}
	}
	x.segments = slices.Clone(x.segments[n:])
}

// next returns the first LSN from lsn on that may have a time between from and to, and the first one after it that
// starts a stretch without; ok is false where there is none.
func (x *timeIndex) next(lsn uint64, from, to int64) (start, end uint64, ok bool) {
	i := sort.Search(len(x.segments), func(i int) bool { s := &x.segments[i]; return lsn < s.first+s.count })
	for ; i < len(x.segments) && !x.segments[i].times.overlaps(from, to); i++ {
		lsn = x.segments[i].first + x.segments[i].count
	}
	if i == len(x.segments) {
		return 0, 0, false
	}
	start = max(lsn, x.segments[i].first)
	for end = start; i < len(x.segments) && x.segments[i].times.overlaps(from, to); i++ {
		end = x.segments[i].first + x.segments[i].count
	}
	return start, end, true
}
