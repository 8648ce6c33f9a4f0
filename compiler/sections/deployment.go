package sections

import (
	"encoding/hex"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
)

// everyKey is what `keys` says in place of ids.
const everyKey = "*"

// Deployment is the section `## deployment`.
type Deployment struct {
	frame.Heading
	Keys   *frame.List // ids in lower case, or everyKey alone
	Serial *frame.Count
}

// The types of values that only this section has.
var (
	keyIDLists = frame.ValueOf(frame.TypeKeyIDs, keyIDs)
	serials    = frame.ValueOf(frame.TypeInteger, readSerial)
)

var (
	keyDeploymentKeys = frame.NewKey(keyIDLists, func(s *Deployment) **frame.List { return &s.Keys }, frame.Key{Name: "keys",
		Doc: "The ids of the API keys that the policy is for, or `*` for every key; it binds to no other one (403 `SVC_WARRANTY_KEY_NOT_NAMED`). Without this line it is for any key. " +
			"A key that has had a policy with this line takes only policies that name it.",
		Example: "keys: 6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90"})

	keyDeploymentSerial = frame.NewKey(serials, func(s *Deployment) **frame.Count { return &s.Serial }, frame.Key{Name: "serial",
		Doc: "The number of the policy, which rises with each deployment. A key that has had a policy with a serial takes only policies with a higher one " +
			"(409 `SVC_WARRANTY_ROLLBACK`), or the one in force again.",
		Example: "serial: 7"})
)

// DeploymentSection is the row of `## deployment`.
var DeploymentSection = frame.NewSection[Deployment]("deployment", frame.V24, "Which API keys the policy is for, and which texts it replaces. It judges no intent.",
	keyDeploymentKeys, keyDeploymentSerial)

// NamesKeys reports whether the policy says for which API keys it is.
func (d *Deployment) NamesKeys() bool { return d != nil && d.Keys != nil }

// KeyIDs returns the ids of the API keys that the policy is for, none where it is for every key.
func (d *Deployment) KeyIDs() []string {
	if !d.NamesKeys() || d.Keys.Items[0].Text == everyKey {
		return nil
	}
	return d.Keys.Texts()
}

// Number returns the policy's serial, 0 where it has none.
func (d *Deployment) Number() uint64 {
	if d == nil || d.Serial == nil {
		return 0
	}
	return d.Serial.N
}

// readSerial reads the number of a policy.
func readSerial(c *frame.Checker, entry *grammar.Entry) *frame.Count {
	before := len(c.Found)
	serial := c.Integer(entry, 1, frame.MaxCount)
	if serial == nil {
		c.Found[before].Hint = "write a whole number in plain digits, higher than that of the policy before; the first one can be 1"
	}
	return serial
}

// keyIDs reads a list of ids of API keys, or the star for all of them.
func keyIDs(c *frame.Checker, entry *grammar.Entry) *frame.List {
	list := &frame.List{Span: entry.Span}
	items := c.List(entry)
	for _, item := range items {
		id := strings.ToLower(item.Text)
		switch {
		case id == everyKey && len(items) > 1:
			c.Add(grammar.At(codes.EveryKey, item.Span, "`*` names every key, so the list cannot have other items").
				WithHint("write `keys: *` for every key, or the ids alone"))
		case id != everyKey && !isKeyID(id):
			c.Add(grammar.At(codes.KeyID, item.Span, "%s is not the id of an API key", shownKeyID(item.Text)).
				WithHint("%s", keyIDHint(item.Text)))
		case slices.ContainsFunc(list.Items, func(other frame.Item) bool { return other.Text == id }):
			c.RepeatedCase(item, id)
		default:
			list.Items = append(list.Items, frame.Item{Text: id, Span: item.Span})
		}
	}
	return list
}

// isKeyID reports whether a text has the form of an API key's id: that of a UUID, in lower case.
func isKeyID(text string) bool {
	parts := strings.Split(text, "-")
	lengths := []int{8, 4, 4, 4, 12}
	if len(parts) != len(lengths) {
		return false
	}
	for i, part := range parts {
		if _, err := hex.DecodeString(part); err != nil || len(part) != lengths[i] {
			return false
		}
	}
	return true
}

// isSecret reports whether a text looks like an API key itself, which no message may repeat.
func isSecret(text string) bool { return strings.HasPrefix(strings.ToLower(text), "sk_") }

// shownKeyID returns what a message shows in place of an id.
func shownKeyID(text string) string {
	if isSecret(text) {
		return "`sk_…`"
	}
	return "`" + frame.Shorten(text) + "`"
}

// keyIDHint returns what to write in place of a text that is not an id.
func keyIDHint(text string) string {
	if isSecret(text) {
		return "this is an API key, which has to stay secret: revoke it, and write the `key_id` that `bailiff keys list` shows"
	}
	return "write the `key_id` that `bailiff keys list` shows, such as 6f1c1a52-8a0e-4f3c-9d27-6e2f0c1b7a90, or `*` for every key"
}
