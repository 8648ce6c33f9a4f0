package bench

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/match"
)

// How long the lists are: so short that entries are compared one after the other, so short that texts are looked for one by one, as
// long as some lists may be, and long.
const (
	shortList  = 8
	middleList = 24
	wideList   = 100
	longList   = 1000
)

// A listCase is a policy with one list, and an intent whose decision is a matter of that list.
type listCase struct {
	name   string
	length int
	policy string // before the list
	entry  string // with NAME and others, which differ from entry to entry
	lines  bool   // entries have a line each
	intent map[string]any
}

// What the intents below have: a text of a kilobyte and a half, and a path, neither of which is in a list.
var (
	listedNote = strings.Repeat("Monthly payout for the team; see https://api.example.net/v1/report?page=2 and ask in #ops first. ", 16)
	listedPath = map[string]any{"action": "file_write", "path": "/workspace/shop/internal/cart/cart_test.go"}
	listedPage = map[string]any{"action": "web_fetch", "url": "https://status.eu.shop.example.net/v1/report"}
	listedCoin = map[string]any{"action": "wallet.transfer", "token": "SYMBOL", "amount": "7.5", "targetAddress": "0xADDRESS"}
	listedMail = map[string]any{"action": "email.send", "to": []string{"ann@example.com", "bob.miller@shop.example.org"}}
)

const (
	files  = "## tool_calls\nallowed: file_write\nfile_write.blocked_paths: "
	pages  = "## tool_calls\nallowed: web_fetch\nweb_fetch.blocked_domains: "
	mails  = "## tool_calls\nallowed: email.send\nemail.allowed_recipients: *@*\nemail.blocked_recipients: "
	coins  = "## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\n"
	custom = "## tool_calls\nallowed: note\n## custom\n"
)

// listCases are a list of each kind that the machine has a way of its own for. Lists that deny have nothing of the intent, as
// mostly; lists that allow have it in the middle.
var listCases = []listCase{
	{"tools", longList, "## tool_calls\nallowed: ", "NAME.read", false, map[string]any{"action": "NAME.read"}},
	{"texts", shortList, custom + "allow_only.metadata.team: ", "team NAME", false, noted("team", "team NAME")},
	{"texts", longList, custom + "allow_only.metadata.team: ", "team NAME", false, noted("team", "team NAME")},
	{"beginnings", shortList, custom + "allow_only.metadata.file starts_with: ", "NAME-", false, noted("file", "NAME-2026-11")},
	{"beginnings", longList, custom + "allow_only.metadata.file starts_with: ", "NAME-", false, noted("file", "NAME-2026-11")},
	{"beginnings of all lengths", wideList, custom + "allow_only.metadata.file starts_with: ", "LONG-NAME", false, noted("file", "LONG-NAME-2026-11")},
	{"endings", shortList, custom + "allow_only.metadata.file ends_with: ", "-NAME", false, noted("file", "2026-11-NAME")},
	{"endings", longList, custom + "allow_only.metadata.file ends_with: ", "-NAME", false, noted("file", "2026-11-NAME")},
	{"recipients", shortList, mails, "NAME@example.com", false, listedMail},
	{"recipients", longList, mails, "NAME@example.com", false, listedMail},
	{"recipients with stars", wideList, mails, "*@NAME.example", false, listedMail},
	{"tokens", wideList, coins, "token.SYMBOL.decimals: 6\ntoken.SYMBOL.max_transaction: 100\ntoken.SYMBOL.addresses: 0xADDRESS", true, listedCoin},
	{"hosts", shortList, pages, "NAME.example.net", false, listedPage},
	{"hosts", longList, pages, "NAME.example.net", false, listedPage},
	{"paths", longList, files, "/srv/NAME", false, listedPath},
	{"file names", longList, files, "NAME.key", false, listedPath},
	{"paths with stars", wideList, files, "/srv/NAME/*/keys", false, listedPath},
	{"secrets", middleList, custom, "deny_string: WORDS", true, noted("note", listedNote)},
	{"secrets in a short text", middleList, custom, "deny_string: WORDS", true, noted("note", "hosting in October")},
	{"secrets with a rare byte", middleList, custom, "deny_string: sk_NAME", true, noted("note", listedNote)},
	{"secrets", longList, custom, "deny_string: WORDS", true, noted("note", listedNote)},
	{"secret addresses", wideList, custom, "deny_string: 0xADDRESS", true, noted("note", listedNote)},
}

// noted returns the intent of a tool with one field of metadata.
func noted(field, text string) map[string]any {
	return map[string]any{"action": "note", "metadata": map[string]any{field: text}}
}

// The parts of names, in which each letter comes first in some.
var (
	firstNames = strings.Fields(`amber basalt cobalt dusty ember fallow granite hazel indigo jade knotty linen marble nickel ochre
		pearl quartz russet sable topaz umber velvet willow xenon yellow zinc ashen birch cedar denim ebony flint`)
	lastNames = strings.Fields(`otter badger crane dingo egret ferret gecko heron ibex jackal kestrel lemur marten newt osprey
		plover quail raven stoat tapir urchin vole weasel xerus yak zebra adder bison civet dunlin ermine finch`)
)

// entryAt puts what differs from entry to entry into a form. Entries that follow each other share no beginning.
func entryAt(n int, form string) string {
	first, last := firstNames[n%len(firstNames)], lastNames[(n+n/len(firstNames))%len(lastNames)]
	address := fmt.Sprintf("%x", sha256.Sum256([]byte(first+last)))[:match.AddressLength-2]
	symbol := strings.ToUpper(first + last)
	return strings.NewReplacer("NAME", first+"-"+last, "WORDS", first+" "+last, "LONG", strings.Repeat("x", n), "ADDRESS", address,
		"SYMBOL", symbol[:min(len(symbol), 11)]).Replace(form)
}

// text returns the policy.
func (c *listCase) text() string {
	entries, separator := make([]string, c.length), ", "
	for n := range entries {
		entries[n] = entryAt(n, c.entry)
	}
	if c.lines {
		separator = "\n"
	}
	return "version: 2.4.0\n\n" + c.policy + strings.Join(entries, separator) + "\n"
}

// body returns the request, which has the entry in the middle of the list where it has one.
func (c *listCase) body(tb testing.TB) string {
	tb.Helper()
	in := map[string]any{"metadata": map[string]any{}}
	maps.Copy(in, c.intent)
	top := map[string]any{
		"framework": "custom", "agentId": "shop-3", "intent": in,
		"txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	if in["amount"] != nil {
		top["chainId"] = 1
	}
	text, err := json.Marshal(top)
	if err != nil {
		tb.Fatal(err)
	}
	return entryAt(c.length/2, string(text))
}

// run judges the intent, which is allowed.
func (c *listCase) run(tb testing.TB) func() error {
	result, found := compiler.Compile(grammar.NewSource("list.md", []byte(c.text())))
	if result.Program == nil || found.HasErrors() {
		tb.Fatalf("the policy with a list does not compile: %v", found)
	}
	program := result.Program
	binding, err := intent.NewBinding(program.Fields(), program.Tokens())
	if err != nil {
		tb.Fatal(err)
	}
	in := decoded(tb, c.body(tb))
	frame, machine := make([]vm.Value, len(program.Fields())), new(vm.Machine)
	binding.Fill(in, intent.Shim, program.Needs(in.ActionLower()), frame)
	return func() error {
		if got := machine.Run(program, frame, vm.First); got.Status != vm.Allowed {
			return fmt.Errorf("%s: the machine says %v by %s", c.name, got.Status, ruleOf(program, got))
		}
		return nil
	}
}

// listBodies judge an intent by a policy with one list.
func listBodies() (bodies []body) {
	for _, c := range listCases {
		bodies = append(bodies, body{fmt.Sprintf("%s/%d", c.name, c.length), c.run})
	}
	return bodies
}

// BenchmarkLists is a decision by one list: what the ways of package match are for.
func BenchmarkLists(b *testing.B) { run(b, listBodies()) }
