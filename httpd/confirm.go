package httpd

import (
	"bailiff/httpd/console"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A confirmation is of one request: what it saw is told if the ledger was still this instance's when it came, or later. A record that
// was made durable for it confirms it, too.
type confirmation struct {
	by   commit.Confirmer // nil: no other instance can have the ledger
	mark uint64
}

// begin is called before a request looks at the ledger.
func begin(by commit.Confirmer) confirmation {
	if by == nil {
		return confirmation{}
	}
	return confirmation{by, by.Mark()}
}

// fault returns why the answer must not be told.
func (c confirmation) fault() *service.Failure {
	if c.by == nil || c.by.Confirm(c.mark) == nil {
		return nil
	}
	return &service.Failure{Code: errcode.StoreUnavailable, Message: "the store did not confirm that this instance still decides; a change that was asked for may or may not have been made"}
}

// confirmed returns a page, or the one that is shown in its place.
func confirmed(page *console.Response, seen confirmation, refuse func(*service.Failure) *console.Response) *console.Response {
	if fault := seen.fault(); fault != nil {
		return refuse(fault)
	}
	return page
}
