package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
)

const (
	// CodeLife is how long the operator has to sign in with a code.
	CodeLife = time.Minute
	// wrongCodes is how many wrong codes end the right one.
	wrongCodes = 5
	codeBytes  = 32
	// latestOfAll is how many events of all keys a page shows.
	latestOfAll = 50
)

// A oneTimeCode is the code with which an operator's session begins, and of which only the hash is kept. There is one at a time.
type oneTimeCode struct {
	mu    sync.Mutex
	hash  [sha256.Size]byte
	until time.Time // zero where there is no code
	wrong int
}

// NewCode returns a code for one sign-in, in place of the one before. It is for users who may use the admin socket.
func (c *Console) NewCode() (code string, err error) {
	var raw [codeBytes]byte
	c.code.mu.Lock()
	defer c.code.mu.Unlock()
	if _, err := io.ReadFull(c.Random, raw[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	code = base64.RawURLEncoding.EncodeToString(raw[:])
	c.code.hash, c.code.until, c.code.wrong = sha256.Sum256([]byte(code)), c.Clock().Add(CodeLife), 0
	c.Log.Info("a one-time code of the operator's console was made", "by", "admin socket")
	return code, nil
}

// use reports whether a code is good, which it is once. Ended says that it was wrong and that the right one ends with it.
func (o *oneTimeCode) use(code string, now time.Time) (good, ended bool) {
	hash := sha256.Sum256([]byte(code))
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.until.IsZero():
		return false, false
	case !now.Before(o.until) || now.Before(o.until.Add(-CodeLife-time.Minute)):
		o.until = time.Time{}
		return false, false
	case subtle.ConstantTimeCompare(hash[:], o.hash[:]) == 1:
		o.until = time.Time{}
		return true, false
	}
	if o.wrong++; o.wrong >= wrongCodes {
		o.until = time.Time{}
		return false, true
	}
	return false, false
}

// SignOutAll ends all sessions, and the code that was not used, and returns how many sessions there were.
func (c *Console) SignOutAll() int {
	c.code.mu.Lock()
	c.code.until = time.Time{}
	c.code.mu.Unlock()
	n := c.sessions.count()
	c.sessions.endKey(ledger.ID{}) // the sessions of operators are of no key
	c.Log.Info("the sessions of the operator's console were ended", "sessions", n, "by", "admin socket")
	return n
}

func (c *Console) signInPage() string {
	if c.Operator != nil {
		return "sign-in-operator"
	}
	return "sign-in"
}

// signInOperator begins a session with a one-time code.
func (c *Console) signInOperator(v *visit) *Response {
	good, ended := c.code.use(strings.TrimSpace(v.Form.Get("code")), c.Clock())
	if ended {
		c.Log.Warn("wrong codes were sent to the operator's console, and the right one was ended", "wrong", wrongCodes)
	}
	if !good {
		return c.refuseSignIn(http.StatusUnauthorized, "The code is wrong, was used, or is older than a minute. Run bailiff console again, and type the code that it prints.")
	}
	response := c.open(v, ledger.ID{})
	if response.Status == http.StatusSeeOther {
		response.Location = keysPath
		c.Log.Info("an operator signed in to the console", "by", "one-time code of the admin socket")
	}
	return response
}

// keysPage is what the operator sees of all keys.
type keysPage struct {
	Keys    []keyRow
	Waiting []holds.Summary
	Latest  []keyedRow
}

// A keyRow is a key with what it used in this month.
type keyRow struct {
	accounts.KeyView
	Allowed, Included uint64
	Pending           int
	Chosen            bool
}

// A keyedRow is an event with its key.
type keyedRow struct {
	KeyID string
	row
}

func (c *Console) keys(ctx context.Context, v *visit, _ string) *Response {
	view, err := c.allKeys(ctx, v)
	if err != nil {
		c.Log.Error("the keys could not be read for the console", "error", err)
		return c.problem(v, http.StatusServiceUnavailable, "The keys could not be read. Try again later; the log says why.")
	}
	latest, fault := c.Authority.LatestOfAll(ctx, latestOfAll)
	if fault != nil {
		return c.fail(v, fault)
	}
	for i, one := range rows(latest) {
		view.Latest = append(view.Latest, keyedRow{latest[i].KeyID, one})
	}
	return c.page(v, "keys", "All keys", view)
}

func (c *Console) allKeys(ctx context.Context, v *visit) (view keysPage, err error) {
	keys, err := c.Operator.Keys(ctx)
	if err != nil {
		return view, err
	}
	usage, err := c.Operator.Usage(ctx, "")
	if err != nil {
		return view, err
	}
	holds, err := c.Operator.AllHolds(ctx)
	if err != nil {
		return view, err
	}
	used, pending := map[string]accounts.UsageView{}, map[string]int{}
	for _, one := range usage {
		used[one.KeyID] = one
	}
	for _, hold := range holds {
		if hold.Status == ledger.HoldPending.String() {
			view.Waiting = append(view.Waiting, hold)
			pending[hold.KeyID]++
		}
	}
	for _, key := range keys {
		of := used[key.ID]
		view.Keys = append(view.Keys, keyRow{key, of.Allowed, of.Included, pending[key.ID], key.ID == v.key.ID.String()})
	}
	return view, nil
}

// chooseKey has the session look at a key. Nothing but the session changes.
func (c *Console) chooseKey(_ context.Context, v *visit, _ string) *Response {
	id, err := ledger.ParseID(v.Form.Get("key"))
	_, known := c.Operator.Ledger.LookupKeyID(id)
	if err != nil || !known {
		return c.problem(v, http.StatusNotFound, fmt.Sprintf("There is no key %.64q. Choose one of the list.", v.Form.Get("key")))
	}
	c.sessions.choose(v.Token, id)
	return &Response{Status: http.StatusSeeOther, Location: Root}
}
