package compiler

// field is a field of a request as the path of a custom rule may begin with it.
type field struct {
	name    string
	members bool // an object, whose members a path has to name
}

// fields are the fields of a request (decisions, section 3), the top-level ones first. Its copy in the decoder
// of requests is the one that counts; a test holds the two together.
var fields = []field{
	{name: "framework"},
	{name: "agentId"},
	{name: "txCommit"},
	{name: "userOpHash"},
	{name: "chainId"},
	{name: "context"},
	{name: "request_nonce"},
	{name: "action"},
	{name: "targetAddress"},
	{name: "token"},
	{name: "amount"},
	{name: "amount_unit"},
	{name: "to"},
	{name: "task_id"},
	{name: "command"},
	{name: "path"},
	{name: "url"},
	{name: "method"},
	{name: "host"},
	{name: "query"},
	{name: "calldata"},
	{name: "arguments", members: true},
	{name: "metadata", members: true},
}

// findField returns the field of that name, or nil.
func findField(name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func fieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// supportedChains are the chains that a request can name (the specification's table "Intent").
var supportedChains = []string{"1", "10", "56", "137", "999", "8453", "42161"}

// The slots of the fields and derived values that the emitter reads by itself.
const (
	slotAction         = "action"
	slotChainID        = "chainId"
	slotTarget         = "targetAddress"
	slotToken          = "token"
	slotAmount         = "amount"
	slotAmountUnit     = "amount_unit"
	slotCalldata       = "calldata"
	slotTaskID         = "task_id"
	slotLowerAction    = "@action"
	slotLowerToken     = "@token"
	slotProvenance     = "@provenance"
	slotCommand        = "@command"
	slotHost           = "@host"
	slotPath           = "@path"
	slotText           = "@text"
	slotCalldataAmount = "@calldata.amount"
	slotMethod         = "method"
	slotQuery          = "@query"
	slotRecipients     = "@recipients"
	slotServer         = "@server"
	slotTool           = "@tool"
	slotMCP            = "@mcp"
	slotSpend          = "@usage.spend"
	slotTokens         = "@usage.tokens"
	slotCall           = "@evm.call"
	slotCallToken      = "@evm.call.token"
	slotCallAmount     = "@evm.call.amount"
)
