package errcode

// Retry says whether a client may send the same request again.
type Retry uint8

// The kinds of Retry.
const (
	// Never: the same request is refused again for as long as the policy is in force.
	Never Retry = iota
	// Mended: the same request may succeed once something outside of it has been mended.
	Mended
	// Later: the same request may succeed by itself. Pause before each attempt, and longer each time.
	Later
)

// String says the same to a client's author.
func (r Retry) String() string {
	switch r {
	case Mended:
		return "yes, once that is done"
	case Later:
		return "yes, later: pause as long as Retry-After says or, without it, longer after each attempt"
	}
	return "no: the same request gets the same answer; change the request, or have the policy changed"
}

// A Remedy is what to do about a code.
type Remedy struct {
	Do    string // in sentences
	Retry Retry
}

// RemedyOf returns what to do about a code; ok is false for a code without a remedy.
func RemedyOf(c Code) (remedy Remedy, ok bool) {
	remedy, ok = remedies[c]
	return remedy, ok
}

// Ways to mend what many codes have in common.
const (
	narrower = "The rule is in matched_rule. Only the operator can grant more, with a new policy."
	shimSays = "The trusted shim has to add it to the intent's metadata; a request without a shim cannot pass."
	newShim  = "Have the trusted shim make a new activation, and deploy with that."
	askAgain = "Authorize the write again, and present the new attestation within 60 seconds."
)

// remedies has a row for each code of Table.
var remedies = map[Code]Remedy{
	ActionNotAllowed:      {"Ask for an action that allowed_actions or chain_actions grants. " + narrower, Never},
	ChainNotAllowed:       {"Ask for a chain of the policy's allowed_chains. " + narrower, Never},
	AmountExceeded:        {"Ask for an amount, and a maxFee, within the limit that the message states. Splitting an amount does not evade limits by the day.", Never},
	AmountInvalid:         {"Write the amount as decimal text in whole coins, such as \"0.25\", or as an integer with amount_unit \"base\".", Never},
	AmountRequired:        {"Declare amount and, where the policy limits fees, maxFee. A call that moves nothing declares the amount \"0\".", Never},
	TokenNotAllowed:       {"Name a token that the policy has a rule for, and as targetAddress the contract that this rule pins on the chain.", Never},
	TokenAmountExceeded:   {"Ask for an amount within max_transaction of the token's rule. An approval without an amount counts as unlimited.", Never},
	TokenAmountInvalid:    {"Write the amount as decimal text in units of the token, with no more fraction digits than the token has decimals.", Never},
	ToolCallNotAllowed:    {"Use a tool, method, host or MCP tool that the policy grants. " + narrower, Never},
	BlockedCommand:        {"Leave out the blocked command, and write commands literally: a variable or substitution in place of a command is denied as well.", Never},
	BlockedDomain:         {"Use another host, and declare url. Subdomains of a blocked domain are blocked, too.", Never},
	BlockedPath:           {"Use another path, in plain form: without .., variables or ~user. Everything below a blocked path is blocked, too.", Never},
	CustomRule:            {"Remove from the request what the rule in matched_rule denies.", Never},
	NotOnAllowlist:        {"Set the field that matched_rule names to a value of its list.", Never},
	ProvenanceRequired:    {"Send the request through the trusted shim, with the shim's own API key.", Never},
	TaskIDRequired:        {"Set intent.task_id to the id of the agent's task; keep it for the whole task.", Never},
	BlockedRecipient:      {"Remove the recipient, and write each address plainly: name@example.com.", Never},
	RecipientNotAllowed:   {"Send to recipients of the policy's list only, and declare them in to.", Never},
	CalldataEnrichment:    {shimSays + " Declare a call of a known method, or let the shim describe the call data.", Never},
	ExecutionBoundary:     {shimSays + " It is metadata.execution.", Never},
	FileEffectRequired:    {shimSays + " It is the list of effects on files.", Never},
	FileEffect:            {"Do without the effect that the message names. " + narrower, Never},
	FileOutsideRoot:       {"Work on files below the allowed roots.", Never},
	FileBlockedPath:       {"Leave the blocked path alone, and whatever contains it.", Never},
	FilePathRequired:      {shimSays + " It is the list of the files that the intent touches.", Never},
	FileTarget:            {"Name the file by its real path, without links that lead elsewhere; the shim has to resolve and classify it.", Never},
	SensitiveFile:         {"Leave files of protected classes alone.", Never},
	SensitiveEgress:       {"Keep files of protected classes on the machine.", Never},
	ImpactLimit:           {"Split the work into intents with fewer effects, and have the shim count them. A task that has used up its limit stays denied.", Never},
	RootMutation:          {"Change what is in the repository, never one of its roots.", Never},
	GitMetadata:           {shimSays + " It is the git operation with its ref updates.", Never},
	GitOperation:          {"Use a git operation that the policy allows.", Never},
	GitRef:                {"Work on another branch or tag, and propose the change for the protected one.", Never},
	GitTopology:           {"Run git in the repository, worktree and remote that the shim can resolve.", Never},
	Provider:              {"Use a git provider that the service knows, named by the shim in metadata.", Never},
	ProviderOperation:     {"Use an operation at the git provider that the policy allows.", Never},
	DatabaseMetadata:      {shimSays + " It is the account of the statement: operations, resources and routines.", Never},
	DatabaseOperation:     {"Use an operation that the policy allows, such as a read.", Never},
	DatabaseResource:      {"Name the resources of the statement, all of which the policy has to list.", Never},
	DatabaseRoutine:       {"Call routines that the policy lists as reviewed.", Never},
	DatabaseCapability:    {"Connect with a credential that can only read, and have the shim say so.", Never},
	DatabaseParse:         {"Write the statement in plain SQL, one at a time, so that the shim can parse it.", Never},
	LoopLimitExceeded:     {"Stop and look at what the agent does. A limit by the hour or the minute ends with its window; a limit by the task ends the task.", Later},
	ModelSpend:            {"End the task. Its budget does not come back; a new task has its own.", Never},
	ModelTokens:           {"End the task. Its budget does not come back; a new task has its own.", Never},
	ModelUsage:            {"Report metadata.model_usage: provider, model, tokens and spend so far, all of them cumulative for the task.", Never},
	AggregateLimit:        {"Wait for the cap's next window: the UTC day or hour. A cap by the task does not come back.", Later},
	AggregateField:        {"Send the fields by which the cap groups and adds up; an amount there is decimal text.", Never},
	LimitStore:            {"Nothing: the service cannot read its counters and so allows nothing that they limit. Its operator looks at the log.", Later},
	HoldDenied:            {"Do without: the operator denied this very intent. It is denied until the hold expires.", Never},
	HoldConsensus:         {"Have the operator approve the hold that holdId names: `bailiff holds approve ID --key FILE`. Read GET /v1/holds/{holdId} until it is resolved, then send the same request.", Mended},
	HoldApproval:          {"Have the operator approve the hold that holdId names: `bailiff holds approve ID --key FILE`. Read GET /v1/holds/{holdId} until it is resolved, then send the same request.", Mended},
	ValidationSchema:      {"Correct the field that the message names; /openapi.json has the schema.", Never},
	ValidationChain:       {"Send the chainId of a chain that the service supports, as a number.", Never},
	APIKeyRequired:        {"Send the API key in the header Authorization: Bearer sk_svc_….", Mended},
	APIKeyInvalid:         {"Send a key that exists and is not revoked. Who operates the service sees the keys with `bailiff keys list`.", Mended},
	APIKeyWrongEnv:        {"Send a key of this environment, or send the request to the environment of the key.", Mended},
	APIKeyScope:           {"Use a key that has the scope, or have the operator grant it: `bailiff keys scopes`.", Mended},
	NotFound:              {"Check path and id. Expired holds, and the holds of other keys, are not found either.", Never},
	MethodNotAllowed:      {"Use a method of the header Allow.", Never},
	BodyTooLarge:          {"Send a smaller body.", Never},
	RateLimited:           {"Send fewer requests, or resolve open holds. Retry-After says when the next one is accepted.", Later},
	Overloaded:            {"Send the request again. Where that happens often, send smaller bodies and fewer at once.", Later},
	Internal:              {"Report it to the operator with the X-Request-Id. Nothing was allowed.", Later},
	StoreUnavailable:      {"Wait until the service has reopened its store. Before repeating a change, look whether it was made.", Later},
	MetadataUnavailable:   {"Build the service from a clean commit: bailiff has to be built in its repository, without changes.", Mended},
	NoPolicy:              {"Deploy a signed policy for the key: `bailiff deploy`.", Mended},
	QuotaExceeded:         {"Wait for the next UTC month, or have the plan changed: `bailiff keys set-plan`.", Later},
	TierInsufficient:      {"Use a key of a plan with webhooks (growth or enterprise).", Mended},
	RegistrationClosed:    {"Ask the operator for a key, who makes one with `bailiff keys create`.", Never},
	WarrantyInvalid:       {"Correct what the diagnostics report; `bailiff check` reports the same. Then sign the policy again.", Never},
	WarrantySignature:     {"Sign the policy with `bailiff sign`, send every byte of the file, and send the public key of the key that signed.", Never},
	WarrantyOperator:      {"Sign with the operator key that the API key was first deployed with, or use another API key.", Never},
	WarrantyRollback:      {"Deploy the policy that is to be in force as a new text: change a byte, such as a comment, and sign it again. Where texts have had a serial, give it a higher one.", Never},
	WarrantyNotNamed:      {"Add the id of the API key to keys of ## deployment, and sign the policy again, or deploy it with a key that it names.", Never},
	ClockUnconfirmed:      {"Nothing: the service decides again once its operator has put the clock right, or said `bailiff clock accept`.", Later},
	WarrantyHeavy:         {"Simplify the lines that the diagnostics name; `bailiff check` reports the same. Then sign the policy again.", Never},
	WarrantyTime:          {"Shorten the policy's lists, and use fewer and simpler patterns. Then sign the policy again.", Never},
	WarrantyBusy:          {"Deploy again after the seconds of Retry-After, one policy of a key at a time.", Later},
	WarrantyRate:          {"Deploy again after the seconds of Retry-After, and try policies with `bailiff check` before.", Later},
	WarrantyStorage:       {"Have the plan changed with `bailiff keys set-plan`, or deploy a shorter policy where there is room for one. What is stored is kept for ever.", Mended},
	EvaluationBusy:        {"Ask again after the seconds of Retry-After, with fewer or smaller requests at once, or simplify the policy's patterns.", Later},
	ShimRequired:          {"Add require_shim: true to the section that the message names, and sign the policy again.", Never},
	ShimAttestation:       {"Deploy with the trusted shim's activation: `bailiff deploy --activation FILE`.", Never},
	ShimMalformed:         {newShim + " It is a compact JWT with all required claims.", Never},
	ShimUntrusted:         {"Add the shim's key to the file that SVC_TRUSTED_SHIMS names, or activate with a shim whose key is there.", Mended},
	ShimIssuer:            {"Add the issuer to the file that SVC_TRUSTED_SHIMS names, or activate with a trusted issuer.", Mended},
	ShimAudience:          {newShim + " Its aud is this service's deployment URL.", Never},
	ShimIdentity:          {"Register the shim in the file that SVC_TRUSTED_SHIMS names.", Mended},
	ShimVersion:           {newShim + " It has to claim shim_version.", Never},
	ShimVersionUnknown:    {"Use a version of the shim that the file of SVC_TRUSTED_SHIMS lists.", Mended},
	ShimExpired:           {newShim + " It lasts at most 300 seconds; check the clocks of shim and service.", Never},
	ShimNonce:             {newShim + " Its jti has 16 to 128 characters.", Never},
	ShimCapability:        {"Use a shim that can enforce every profile of the policy, or leave the profile out.", Never},
	ShimBinding:           {newShim + " It has to name this policy and this operator public key.", Never},
	ShimReplayed:          {newShim, Never},
	HoldResolved:          {"Nothing: a hold is decided once. Read it to see how.", Never},
	HoldSignature:         {"Sign the resolution with the operator key of the policy: `bailiff holds approve --key FILE`.", Never},
	WebhookURL:            {"Register an https URL whose host has public addresses; the message says what is wrong with this one.", Never},
	TooManyWebhooks:       {"Remove a webhook first.", Mended},
	TooManyPinnedServers:  {"Have the operator forget a server that is not in use: `bailiff mcp forget --server NAME`.", Mended},
	TooManyPinnedTools:    {"Have the operator forget tools that the server does not list any more, or take a server with fewer tools: `bailiff mcp forget --server NAME TOOL`.", Mended},
	PinnedBytesFull:       {"Have the operator forget servers or tools that are not in use: `bailiff mcp forget --server NAME`.", Mended},
	LimitStoreUnavailable: {"Nothing: too many sources or keys are counted at once, and those that cannot be counted are refused.", Later},
	AttestationRequired:   {"Authorize the write, and send the attestation in the header Authorization or Svc-Receipt.", Never},
	AttestationInvalid:    {askAgain + " Send it unchanged, and to the service that issued it.", Never},
	AttestationExpired:    {askAgain, Never},
	ChainUnsupported:      {"Use a chain that SVC_RPC_CHAINS lists and that has a node: SVC_RPC_URL_<chainId>, or SVC_BUNDLER_URL_<chainId>.", Mended},
	PolicyViolation:       {"Read data.reason. " + askAgain + " Declare exactly what the signed bytes do.", Never},
	RPCMethod:             {"Use a method of docs/clients.md; send everything else to a node of your own.", Never},
	GatewayBusy:           {"Read answers as they come, and ask for less at once, such as fewer blocks of logs. Then send the read again.", Later},
	UpstreamUnavailable:   {"Reads: send them again. A write may have been submitted: look for its receipt first, then authorize it again.", Later},
}
