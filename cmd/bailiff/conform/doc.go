// Package conform has the command for testers of implementations: it runs the conformance kit, and writes its vectors.
package conform
