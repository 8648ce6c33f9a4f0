package grammar

// collector gathers the diagnostics of one pass over the text, which come in order of position. It keeps one
// more than are reported, of each severity, so that Sorted sees that some were left out.
type collector struct {
	list   Diagnostics
	counts [Note + 1]int
}

func (c *collector) add(d Diagnostic) {
	c.counts[d.Severity]++
	if c.counts[d.Severity] <= MaxDiagnostics+1 {
		c.list = append(c.list, d)
	}
}
