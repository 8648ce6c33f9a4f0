// Package intent reads the body of an authorize or test-run request: bytes in, checked and normalised fields out,
// or one error that names the fault, its place, and the remedy.
//
// # What it promises
//
// There is one reading of a body, and what could be read in two ways is refused: a key that occurs twice, at any
// level; invalid UTF-8 and lone surrogates; anything after the object; a key that is no field, or is written in
// another case; null for a field; a number that is not exactly a double. A body has at most MaxBody bytes and nests
// at most maxDepth deep. Refusing takes time in proportion to the body, no input makes the package panic, and no
// error repeats more than a few bytes of what it refuses.
//
// A number is exactly a double where its decimal value is that of its RFC 8785 form, the shortest text that the
// double is read back from: 0.1, 0.10 and 1e-1 are, 0.12345678901234567890 and 1e400 are not. Integers beyond
// ±(2^53−1), however they are written, are not accepted either. Minus zero is 0.
//
// # Fields
//
// The fields are rows of one table, Fields, from which decoding is driven and this list is made.
//
//	framework      string                      top level            required             1 to 64 of a-z, 0-9 and hyphen
//	agentId        string                      top level            required             1 to 256 characters, no control characters
//	txCommit       string                      top level            exactly one of both  64 lower-case hexadecimal digits
//	userOpHash     string                      top level            exactly one of both  0x and 64 hexadecimal digits, for erc4337.userop only; read in lower case
//	chainId        integer                     top level            optional             one of 1, 10, 56, 137, 999, 8453, 42161
//	context        string                      top level            optional             any text
//	request_nonce  string                      top level            optional             up to 64 characters
//	intent         object                      top level            optional             the fields below; may be absent where action is at the top level
//	action         string                      intent or top level  required             1 to 128 characters of printable ASCII, no white space
//	targetAddress  string                      intent               optional             an address; read in lower case
//	token          string                      intent               optional             a symbol, or an address, which is read in lower case; not empty
//	amount         string                      intent or top level  optional             any text; the policy's section judges its form
//	amount_unit    string                      intent               optional             base
//	to             string or array of strings  intent or top level  optional             any text; addresses are read in lower case
//	task_id        string                      intent               optional             1 to 128 of A-Z, a-z, 0-9, underscore and hyphen
//	command        string                      intent               optional             any text
//	cwd            string                      intent               optional             an absolute path; the directory that a relative path starts from
//	path           string                      intent               optional             any text; beside url the path of that URL
//	paths          array of strings            intent               optional             1 to 256 texts, with the actions file_write and file_read only, and not beside path or url
//	url            string                      intent               optional             an http or https URL with a host
//	method         string                      intent               optional             one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE
//	host           string                      intent               optional             any text; beside url the host of that URL
//	query          string                      intent               optional             any text; beside url the query of that URL, without ?
//	calldata       string                      intent               optional             0x and an even number of hexadecimal digits
//	maxFee         string                      intent               optional             the most that gas may cost, in native units, such as 0.01; the policy's section judges its form
//	arguments      object                      intent               optional             any object
//	metadata       object                      intent               optional             any object; model_usage, and serverId and toolName of MCP actions, are checked
//
// Beyond the table:
//
//   - `action`, `amount` and `to` that are at both places must have the same normal form there, and so must `arguments`
//     and metadata.arguments, which are one field.
//   - A request commits to one thing: it has either txCommit or, where the action is erc4337.userop,
//     userOpHash; never both.
//   - An address is 0x and 40 hexadecimal digits; one of mixed case with a wrong EIP-55 checksum is an error. `to` and
//     `token` may be other things, and are addresses where they look like one.
//   - The actions http and web_fetch are held to their form: http has url and method, web_fetch has no method.
//   - host, path and query that are beside url must be those of the URL.
//   - An MCP action is mcp.<server>.<tool>; metadata.serverId and metadata.toolName must agree with it, without regard
//     to case.
//   - metadata.model_usage must be well-formed: names are strings, token counts are integers of zero or more, and
//     estimated_spend_usd is a decimal string of up to 18 fraction digits.
//   - Actions are compared in lower case in these checks.
//
// What is valid only for a policy is not checked here, because the kind of an intent depends on the policy: that
// chainId is there for EVM intents and allowed, that the EVM fields are on no others, and the form of the amount.
//
// # Forms
//
// A slot that is named by the path of a rule gives the normal form of what is there (package slot), an object where it
// has none. Some forms need what the policy says of tokens, so that a Binding has them. After EachPrefix a path walks
// through lists of objects, and after SentPrefix it gives texts as they were sent, where those differ.
//
// # Evidence
//
// What a shim says about an intent's effects (metadata.execution, filesystem, git, database and evm) is read by derived
// slots, for policies that ask for it: malformed evidence is no error here. A slot is vm.Missing where
// nothing was said and vm.Invalid where what was said can't be relied on; a null counts as nothing. Paths end in a slash,
// so that a root's text, which ends in one too, begins the text of all that lies in it and of nothing else. Reading
// takes time in proportion to the evidence, but for a logarithm where roots are sorted.
//
// # Use
//
//	decoder := intent.NewDecoder(intent.Options{})
//	in, err := decoder.Decode(body)
//	if err != nil {
//		return err // an *intent.Error
//	}
//	binding.Fill(in, intent.Agent, needs, frame)
//
// A Binding, made once per program, says which slot of the machine's frame takes which value. Slots are fields, what
// lies below arguments and metadata, and values derived from fields, which are computed only for programs that read
// them. The tokens are read by jsontext; all else works on a tape of values in memory that the decoder uses again,
// so that a typical request allocates nothing. The tokenizer alone takes about half of the time of Decode.
package intent
