package commit

import (
	"sync"

	"bailiff/runtime/ledger"
)

// A keyTable has the keys as they are durably. Its entries are replaced, never changed, so that a caller that looked one
// up may keep it.
type keyTable struct {
	mu     sync.RWMutex
	byHash map[[32]byte]*ledger.Key
	index  map[ledger.ID]int // into list
	list   []*ledger.Key     // in the order of creation
}

func newKeyTable() keyTable {
	return keyTable{byHash: map[[32]byte]*ledger.Key{}, index: map[ledger.ID]int{}}
}

func (t *keyTable) publish(keys ...ledger.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		i, known := t.index[key.ID]
		if !known {
			i = len(t.list)
			t.index[key.ID] = i
			t.list = append(t.list, nil)
		}
		entry := key
		t.list[i], t.byHash[key.Hash] = &entry, &entry
	}
}

func (t *keyTable) lookup(hash [32]byte) (*ledger.Key, bool) {
	t.mu.RLock()
	key, ok := t.byHash[hash]
	t.mu.RUnlock()
	return key, ok
}

func (t *keyTable) byID(id ledger.ID) (*ledger.Key, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	i, ok := t.index[id]
	if !ok {
		return nil, false
	}
	return t.list[i], true
}

func (t *keyTable) all() []ledger.Key {
	t.mu.RLock()
	defer t.mu.RUnlock()
	keys := make([]ledger.Key, len(t.list))
	for i, key := range t.list {
		keys[i] = *key
	}
	return keys
}
