// Package errcode is the table of the error codes in answers (SVC_…): what each means and which HTTP status carries
// it. Everything that answers, compiles or documents such a code takes it from here. The codes of findings about a policy
// (E…, W…) are in packages grammar and compiler/codes.
package errcode

// Code is a machine-readable code as the field error_code carries it.
type Code string

// Class says what kind of answer carries a code.
type Class uint8

// The classes of codes.
const (
	// Denial codes come with status DENIED: HTTP 403, or 200 on a test-run.
	Denial Class = iota
	// Hold codes come with status PENDING: HTTP 202, or 200 on a test-run.
	Hold
	// Failure codes come in an error body with their own HTTP status.
	Failure
)

// Info is one row of the table.
type Info struct {
	Code    Code
	Class   Class
	HTTP    int
	Status  string // the field `status` of the answer that carries the code
	Meaning string
	Remedy  Remedy
}

// Table is the table of all codes, in the order of their definitions. A code that is not in it is never answered.
var Table []Info

var byCode = map[Code]Info{}

// define adds a row to the table.
func define(info Info) Code {
	Table, byCode[info.Code] = append(Table, info), info
	return info.Code
}

// denial defines the code of a denial: what it means, what to do, and whether the same request can succeed later.
func denial(c Code, meaning, do string, retry Retry) Code {
	return define(Info{c, Denial, 403, "DENIED", meaning, Remedy{do, retry}})
}

// hold defines the code of a hold.
func hold(c Code, meaning, do string, retry Retry) Code {
	return define(Info{c, Hold, 202, "PENDING", meaning, Remedy{do, retry}})
}

// failure defines the code of an answer that is no decision.
func failure(http int, status string, c Code, meaning, do string, retry Retry) Code {
	return define(Info{c, Failure, http, status, meaning, Remedy{do, retry}})
}

// Ways to mend what many codes have in common.
const (
	narrower = "The rule is in matched_rule. Only the operator can grant more, with a new policy."
	shimSays = "The trusted shim has to add it to the intent's metadata; a request without a shim cannot pass."
	newShim  = "Have the trusted shim make a new activation, and deploy with that."
	askAgain = "Authorize the write again, and present the new attestation within 60 seconds."
)

// The codes of this build.
var (
	ActionNotAllowed = denial("SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED",
		"the action is not granted for the chain",
		"Ask for an action that allowed_actions or chain_actions grants. "+narrower, Never)

	ChainNotAllowed = denial("SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED",
		"the chain is not in the policy's allowed_chains",
		"Ask for a chain of the policy's allowed_chains. "+narrower, Never)

	AmountExceeded = denial("SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED",
		"the native amount exceeds the per-transaction limit",
		"Ask for an amount, and a maxFee, within the limit that the message states. Splitting an amount does not evade limits by the day.", Never)

	AmountInvalid = denial("SVC_POLICY_VIOLATION_AMOUNT_INVALID",
		"the native amount is not a decimal of at most 18 fraction digits",
		"Write the amount as decimal text in whole coins, such as \"0.25\", or as an integer with amount_unit \"base\".", Never)

	AmountRequired = denial("SVC_POLICY_VIOLATION_AMOUNT_REQUIRED",
		"the native amount is missing (policies from 2.1)",
		"Declare amount and, where the policy limits fees, maxFee. A call that moves nothing declares the amount \"0\".", Never)

	TokenNotAllowed = denial("SVC_POLICY_VIOLATION_TOKEN_NOT_ALLOWED",
		"no token rule matches the token, or the target is not a pinned address",
		"Name a token that the policy has a rule for, and as targetAddress the contract that this rule pins on the chain.", Never)

	TokenAmountExceeded = denial("SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED",
		"the token amount exceeds the token's max_transaction",
		"Ask for an amount within max_transaction of the token's rule. An approval without an amount counts as unlimited.", Never)

	TokenAmountInvalid = denial("SVC_POLICY_VIOLATION_TOKEN_AMOUNT_INVALID",
		"the token amount is missing or not a decimal of at most the token's decimals",
		"Write the amount as decimal text in units of the token, with no more fraction digits than the token has decimals.", Never)

	ToolCallNotAllowed = denial("SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED",
		"the tool is not granted",
		"Use a tool, method, host or MCP tool that the policy grants. "+narrower, Never)

	BlockedCommand = denial("SVC_POLICY_VIOLATION_BLOCKED_COMMAND",
		"the command holds a blocked command, cannot be judged, or is missing",
		"Leave out the blocked command, and write commands literally: a variable or substitution in place of a command is denied as well.", Never)

	BlockedDomain = denial("SVC_POLICY_VIOLATION_BLOCKED_DOMAIN",
		"the host is a blocked domain or below one, or the URL is missing",
		"Use another host, and declare url. Subdomains of a blocked domain are blocked, too.", Never)

	BlockedPath = denial("SVC_POLICY_VIOLATION_BLOCKED_PATH",
		"the path is a blocked path or below one, cannot be judged, or is missing",
		"Use another path, in plain form: without .., variables or ~user. Everything below a blocked path is blocked, too.", Never)

	CustomRule = denial("SVC_POLICY_VIOLATION_CUSTOM_RULE",
		"a deny_if or deny_string rule applies",
		"Remove from the request what the rule in matched_rule denies.", Never)

	NotOnAllowlist = denial("SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST",
		"an allow_only field is missing or its value is not listed",
		"Set the field that matched_rule names to a value of its list.", Never)

	ProvenanceRequired = denial("SVC_POLICY_VIOLATION_PROVENANCE_REQUIRED",
		"the value counts only from a key whose provenance is a shim",
		"Send the request through the trusted shim, with the shim's own API key.", Never)

	TaskIDRequired = denial("SVC_POLICY_VIOLATION_TASK_ID_REQUIRED",
		"a per-task limit applies and the intent has no task_id",
		"Set intent.task_id to the id of the agent's task; keep it for the whole task.", Never)

	BlockedRecipient = denial("SVC_POLICY_VIOLATION_BLOCKED_RECIPIENT",
		"a recipient of the email is on the blocked list, or cannot be read",
		"Remove the recipient, and write each address plainly: name@example.com.", Never)

	RecipientNotAllowed = denial("SVC_POLICY_VIOLATION_RECIPIENT_NOT_ALLOWED",
		"a recipient of the email is missing or not on the allowed list",
		"Send to recipients of the policy's list only, and declare them in to.", Never)

	CalldataEnrichment = denial("SVC_POLICY_VIOLATION_CALLDATA_ENRICHMENT_REQUIRED",
		"the call needs a trusted shim's account of its call data",
		shimSays+" Declare a call of a known method, or let the shim describe the call data.", Never)

	ExecutionBoundary = denial("SVC_POLICY_VIOLATION_EXECUTION_BOUNDARY_REQUIRED",
		"a resource profile governs the intent, which needs a trusted shim and metadata.execution",
		shimSays+" It is metadata.execution.", Never)

	FileEffectRequired = denial("SVC_POLICY_VIOLATION_FILE_EFFECT_REQUIRED",
		"the effects on files are missing or unknown",
		shimSays+" It is the list of effects on files.", Never)

	FileEffect = denial("SVC_POLICY_VIOLATION_FILE_EFFECT_NOT_ALLOWED",
		"an effect on files is not allowed",
		"Do without the effect that the message names. "+narrower, Never)

	FileOutsideRoot = denial("SVC_POLICY_VIOLATION_FILE_OUTSIDE_ROOT",
		"a file is outside of the allowed roots",
		"Work on files below the allowed roots.", Never)

	FileBlockedPath = denial("SVC_POLICY_VIOLATION_FILE_BLOCKED_PATH",
		"a file is at a blocked path, below one, or its path cannot be judged",
		"Leave the blocked path alone, and whatever contains it.", Never)

	FilePathRequired = denial("SVC_POLICY_VIOLATION_FILE_PATH_REQUIRED",
		"the files that the intent touches are missing",
		shimSays+" It is the list of the files that the intent touches.", Never)

	FileTarget = denial("SVC_POLICY_VIOLATION_FILE_TARGET_UNTRUSTED",
		"a file's path, its links or its classification cannot be trusted",
		"Name the file by its real path, without links that lead elsewhere; the shim has to resolve and classify it.", Never)

	SensitiveFile = denial("SVC_POLICY_VIOLATION_SENSITIVE_FILE",
		"a file is of a protected class",
		"Leave files of protected classes alone.", Never)

	SensitiveEgress = denial("SVC_POLICY_VIOLATION_SENSITIVE_EGRESS",
		"a file of a protected class would leave the machine",
		"Keep files of protected classes on the machine.", Never)

	ImpactLimit = denial("SVC_POLICY_VIOLATION_IMPACT_LIMIT",
		"the intent, or its task, has more effects than allowed, or does not say how many",
		"Split the work into intents with fewer effects, and have the shim count them. A task that has used up its limit stays denied.", Never)

	RootMutation = denial("SVC_POLICY_VIOLATION_REPOSITORY_ROOT_MUTATION",
		"a root of the repository itself would change",
		"Change files in the repository, never one of its roots.", Never)

	GitMetadata = denial("SVC_POLICY_VIOLATION_GIT_METADATA_REQUIRED",
		"the git operation or its ref updates are missing or unknown",
		shimSays+" It is the git operation with its ref updates.", Never)

	GitOperation = denial("SVC_POLICY_VIOLATION_GIT_OPERATION_BLOCKED",
		"the git operation is not allowed",
		"Use a git operation that the policy allows.", Never)

	GitRef = denial("SVC_POLICY_VIOLATION_GIT_REF_NOT_ALLOWED",
		"a protected ref would change",
		"Work on another branch or tag, and propose the change for the protected one.", Never)

	GitTopology = denial("SVC_POLICY_VIOLATION_GIT_TOPOLOGY_UNTRUSTED",
		"the git repository, worktree or remote cannot be trusted",
		"Run git in the repository, worktree and remote that the shim can resolve.", Never)

	Provider = denial("SVC_POLICY_VIOLATION_PROVIDER_UNSUPPORTED",
		"the git provider is missing or not supported",
		"Use a git provider that the service knows, named by the shim in metadata.", Never)

	ProviderOperation = denial("SVC_POLICY_VIOLATION_PROVIDER_OPERATION_BLOCKED",
		"the operation at the git provider is not allowed",
		"Use an operation at the git provider that the policy allows.", Never)

	DatabaseMetadata = denial("SVC_POLICY_VIOLATION_DATABASE_METADATA_REQUIRED",
		"the account of the database statement is missing",
		shimSays+" It is the account of the statement: operations, resources and routines.", Never)

	DatabaseOperation = denial("SVC_POLICY_VIOLATION_DATABASE_OPERATION_NOT_ALLOWED",
		"a database operation is not allowed",
		"Use an operation that the policy allows, such as a read.", Never)

	DatabaseResource = denial("SVC_POLICY_VIOLATION_DATABASE_RESOURCE_NOT_ALLOWED",
		"a database resource is missing or not allowed",
		"Name the resources of the statement, all of which the policy has to list.", Never)

	DatabaseRoutine = denial("SVC_POLICY_VIOLATION_DATABASE_ROUTINE_NOT_ALLOWED",
		"a routine is not reviewed",
		"Call routines that the policy lists as reviewed.", Never)

	DatabaseCapability = denial("SVC_POLICY_VIOLATION_DATABASE_CAPABILITY_UNTRUSTED",
		"the database credential can do more than read, or does not say what it can do",
		"Connect with a credential that can only read, and have the shim say so.", Never)

	DatabaseParse = denial("SVC_POLICY_VIOLATION_DATABASE_PARSE_FAILED",
		"the database statement could not be understood",
		"Write the statement in plain SQL, one at a time, so that the shim can parse it.", Never)

	LoopLimitExceeded = denial("SVC_LOOP_LIMIT_EXCEEDED",
		"a tool-call execution limit is exceeded",
		"Stop and look at what the agent does. A limit by the hour or the minute ends with its window; a limit by the task ends the task.", Later)

	ModelSpend = denial("SVC_MODEL_SPEND_LIMIT_EXCEEDED",
		"the task's model spend exceeds the budget",
		"End the task. Its budget does not come back; a new task has its own.", Never)

	ModelTokens = denial("SVC_MODEL_TOKEN_LIMIT_EXCEEDED",
		"the task's model tokens exceed the budget",
		"End the task. Its budget does not come back; a new task has its own.", Never)

	ModelUsage = denial("SVC_MODEL_USAGE_UNAVAILABLE",
		"a model budget applies and metadata.model_usage does not report the usage",
		"Report metadata.model_usage: provider, model, tokens and spend so far, all of them cumulative for the task.", Never)

	AggregateLimit = denial("SVC_AGGREGATE_LIMIT_EXCEEDED",
		"a cap is exceeded, or the key has too many live counter groups",
		"Wait for the cap's next window: the UTC day or hour. A cap by the task does not come back.", Later)

	AggregateField = denial("SVC_AGGREGATE_FIELD_MISSING",
		"a value that a cap groups by or adds up is missing or malformed",
		"Send the fields by which the cap groups and adds up; an amount there is decimal text.", Never)

	LimitStore = denial("SVC_LIMIT_STORE_UNAVAILABLE",
		"a limit's counter cannot be read or advanced",
		"Nothing: the service cannot read its counters and so allows nothing that they limit. Its operator looks at the log.", Later)

	HoldDenied = denial("SVC_POLICY_HOLD_DENIED",
		"the operator denied the hold of this intent",
		"Do without: the operator denied this very intent. It is denied until the hold expires.", Never)

	HoldConsensus = hold("SVC_POLICY_HOLD_CONSENSUS_REQUIRED",
		"the amount reaches a consensus threshold",
		"Have the operator approve the hold that holdId names: `bailiff holds approve ID --key FILE`. Read GET /v1/holds/{holdId} until it is resolved, then send the same request.", Mended)

	HoldApproval = hold("SVC_POLICY_HOLD_APPROVAL_REQUIRED",
		"a person has to decide on the action",
		"Have the operator approve the hold that holdId names: `bailiff holds approve ID --key FILE`. Read GET /v1/holds/{holdId} until it is resolved, then send the same request.", Mended)

	ValidationSchema = failure(400, "ERROR", "SVC_VALIDATION_ERROR_SCHEMA",
		"the request does not follow the schema; the message names the field",
		"Correct the field that the message names; /openapi.json has the schema.", Never)

	ValidationChain = failure(400, "ERROR", "SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED",
		"chainId is not a supported chain",
		"Send the chainId of a chain that the service supports, as a number.", Never)

	APIKeyRequired = failure(401, "UNAUTHORIZED", "SVC_API_KEY_REQUIRED",
		"the request carries no API key",
		"Send the API key in the header Authorization: Bearer sk_svc_….", Mended)

	APIKeyInvalid = failure(401, "UNAUTHORIZED", "SVC_API_KEY_INVALID",
		"the API key is malformed, unknown or revoked",
		"Send a key that exists and is not revoked. Who operates the service sees the keys with `bailiff keys list`.", Mended)

	APIKeyWrongEnv = failure(401, "UNAUTHORIZED", "SVC_API_KEY_WRONG_ENV",
		"the API key belongs to another environment",
		"Send a key of this environment, or send the request to the environment of the key.", Mended)

	APIKeyScope = failure(403, "ERROR", "SVC_API_KEY_SCOPE_INSUFFICIENT",
		"the API key lacks the scope that the route needs",
		"Use a key that has the scope, or have the operator grant it: `bailiff keys scopes`.", Mended)

	NotFound = failure(404, "ERROR", "SVC_NOT_FOUND",
		"there is no such route or resource",
		"Check path and id. Expired holds, and the holds of other keys, are not found either.", Never)

	MethodNotAllowed = failure(405, "ERROR", "SVC_METHOD_NOT_ALLOWED",
		"the route does not know the method",
		"Use a method of the header Allow.", Never)

	BodyTooLarge = failure(413, "ERROR", "SVC_BODY_TOO_LARGE",
		"the body is larger than the route accepts",
		"Send a smaller body.", Never)

	RateLimited = failure(429, "RATE_LIMITED", "SVC_RATE_LIMITED",
		"too many requests or open holds, or too many bytes of request bodies under way from one source",
		"Send fewer requests, or resolve open holds. Retry-After says when the next one is accepted.", Later)

	Overloaded = failure(503, "UNAVAILABLE", "SVC_OVERLOADED",
		"the request bodies under way take all the memory that they may; send the request again",
		"Send the request again. Where that happens often, send smaller bodies and fewer at once.", Later)

	Internal = failure(500, "ERROR", "SVC_INTERNAL_ERROR",
		"the service failed; nothing was allowed",
		"Report it to the operator with the X-Request-Id. Nothing was allowed.", Later)

	StoreUnavailable = failure(503, "UNAVAILABLE", "SVC_STORE_UNAVAILABLE",
		"the store failed; it may or may not have recorded the change",
		"Wait until the service has reopened its store. Before repeating a change, look whether it was made.", Later)

	MetadataUnavailable = failure(503, "UNAVAILABLE", "SVC_SERVICE_METADATA_UNAVAILABLE",
		"the build is bound to no commit",
		"Build the service from a clean commit: bailiff has to be built in its repository, without changes.", Mended)

	NoPolicy = failure(409, "ERROR", "SVC_NO_POLICY_DEPLOYED",
		"the API key has no policy yet; deploy one",
		"Deploy a signed policy for the key: `bailiff deploy`.", Mended)

	QuotaExceeded = failure(429, "RATE_LIMITED", "SVC_QUOTA_EXCEEDED",
		"the plan's number of ALLOWED decisions in this month is used up",
		"Wait for the next UTC month, or have the plan changed: `bailiff keys set-plan`.", Later)

	TierInsufficient = failure(403, "ERROR", "SVC_TIER_INSUFFICIENT",
		"the plan of the account does not have webhooks",
		"Use a key of a plan with webhooks (growth or enterprise).", Mended)

	RegistrationClosed = failure(403, "ERROR", "SVC_REGISTRATION_CLOSED",
		"the service is self-hosted; its operator makes the API keys",
		"Ask the operator for a key, who makes one with `bailiff keys create`.", Never)

	WarrantyInvalid = failure(400, "ERROR", "SVC_WARRANTY_INVALID",
		"the policy has errors, which the diagnostics name",
		"Correct what the diagnostics report; `bailiff check` reports the same. Then sign the policy again.", Never)

	WarrantySignature = failure(400, "ERROR", "SVC_WARRANTY_SIGNATURE_INVALID",
		"the policy is unsigned, or its signature does not verify with the operator public key",
		"Sign the policy with `bailiff sign`, send every byte of the file, and send the public key of the key that signed.", Never)

	WarrantyOperator = failure(403, "ERROR", "SVC_WARRANTY_OPERATOR_KEY_MISMATCH",
		"the API key is pinned to another operator public key",
		"Sign with the operator key that the API key was first deployed with, or use another API key.", Never)

	WarrantyRollback = failure(409, "ERROR", "SVC_WARRANTY_ROLLBACK",
		"the policy was in force before and replaced since, or its serial is not higher than those that the key has had",
		"Deploy the policy that is to be in force as a new text: change a byte, such as a comment, and sign it again. Where texts have had a serial, give it a higher one.", Never)

	ClockUnconfirmed = failure(403, "DENIED", "SVC_CLOCK_UNCONFIRMED",
		"the service's clock cannot be relied on, so that it decides nothing; 401 for writes on a gateway",
		"Nothing: the service decides again once its operator has put the clock right, or said `bailiff clock accept`.", Later)

	WarrantyNotNamed = failure(403, "ERROR", "SVC_WARRANTY_KEY_NOT_NAMED",
		"the policy's keys do not include the API key, or the key takes only policies that name it",
		"Add the id of the API key to keys of ## deployment, and sign the policy again, or deploy it with a key that it names.", Never)

	KeySuspended = failure(403, "DENIED", "SVC_KEY_SUSPENDED",
		"the operator has suspended the API key; nothing is allowed for it",
		"Stop the agent, and ask the operator, who resumes the key with `bailiff keys resume`.", Mended)

	Frozen = failure(403, "DENIED", "SVC_FROZEN",
		"the operator has frozen the service; nothing is allowed for anybody",
		"Stop, and ask the operator, who thaws the service with `bailiff thaw`.", Mended)

	WarrantyHeavy = failure(400, "ERROR", "SVC_WARRANTY_TOO_HEAVY",
		"the compiled policy takes too much memory, or too long to judge a request; the diagnostics name the lines",
		"Simplify the lines that the diagnostics name; `bailiff check` reports the same. Then sign the policy again.", Never)

	WarrantyTime = failure(400, "ERROR", "SVC_WARRANTY_COMPILE_TIME",
		"the policy takes longer to compile than it may",
		"Shorten the policy's lists, and use fewer and simpler patterns. Then sign the policy again.", Never)

	WarrantyBusy = failure(429, "RATE_LIMITED", "SVC_WARRANTY_BUSY",
		"another policy of the key is being compiled, or too many of others",
		"Deploy again after the seconds of Retry-After, one policy of a key at a time.", Later)

	WarrantyRate = failure(429, "RATE_LIMITED", "SVC_WARRANTY_RATE_LIMITED",
		"the key has deployed as many policies in an hour as it may",
		"Deploy again after the seconds of Retry-After, and try policies with `bailiff check` before.", Later)

	WarrantyStorage = failure(409, "ERROR", "SVC_WARRANTY_STORAGE_FULL",
		"the policies that were deployed with the key keep as much storage as its plan includes",
		"Have the plan changed with `bailiff keys set-plan`, or deploy a shorter policy where there is room for one. Stored policies are kept for ever.", Mended)

	EvaluationBusy = failure(429, "RATE_LIMITED", "SVC_EVALUATION_BUSY",
		"other requests of the key take long to judge, or too many policies are being loaded",
		"Ask again after the seconds of Retry-After, with fewer or smaller requests at once, or simplify the policy's patterns.", Later)

	ShimRequired = failure(409, "ERROR", "SVC_TRUSTED_SHIM_REQUIRED",
		"a section that a resource profile needs does not say require_shim: true",
		"Add require_shim: true to the section that the message names, and sign the policy again.", Never)

	ShimAttestation = failure(409, "ERROR", "SVC_TRUSTED_SHIM_ATTESTATION_REQUIRED",
		"the policy has a resource profile, and no activation of a trusted shim came with it",
		"Deploy with the trusted shim's activation: `bailiff deploy --activation FILE`.", Never)

	ShimMalformed = failure(409, "ERROR", "SVC_TRUSTED_SHIM_ATTESTATION_MALFORMED",
		"the activation is not a compact JWT, or a claim is missing or of the wrong type",
		newShim+" It is a compact JWT with all required claims.", Never)

	ShimUntrusted = failure(409, "ERROR", "SVC_TRUSTED_SHIM_UNTRUSTED",
		"the key of the activation is not trusted, or its signature is wrong",
		"Add the shim's key to the file that SVC_TRUSTED_SHIMS names, or activate with a shim whose key is there.", Mended)

	ShimIssuer = failure(409, "ERROR", "SVC_TRUSTED_SHIM_ISSUER_INVALID",
		"the issuer of the activation is not trusted",
		"Add the issuer to the file that SVC_TRUSTED_SHIMS names, or activate with a trusted issuer.", Mended)

	ShimAudience = failure(409, "ERROR", "SVC_TRUSTED_SHIM_AUDIENCE_INVALID",
		"the activation is for another service",
		newShim+" Its aud is this service's deployment URL.", Never)

	ShimIdentity = failure(409, "ERROR", "SVC_TRUSTED_SHIM_IDENTITY_INVALID",
		"the shim of the activation is not registered",
		"Register the shim in the file that SVC_TRUSTED_SHIMS names.", Mended)

	ShimVersion = failure(409, "ERROR", "SVC_TRUSTED_SHIM_VERSION_REQUIRED",
		"the activation does not say the version of its shim",
		newShim+" It has to claim shim_version.", Never)

	ShimVersionUnknown = failure(409, "ERROR", "SVC_TRUSTED_SHIM_VERSION_UNSUPPORTED",
		"the version of the shim is not supported",
		"Use a version of the shim that the file of SVC_TRUSTED_SHIMS lists.", Mended)

	ShimExpired = failure(409, "ERROR", "SVC_TRUSTED_SHIM_ATTESTATION_EXPIRED",
		"the activation is not valid now, or for too long",
		newShim+" It lasts at most 300 seconds; check the clocks of shim and service.", Never)

	ShimNonce = failure(409, "ERROR", "SVC_TRUSTED_SHIM_NONCE_INVALID",
		"the nonce of the activation (jti) has not 16 to 128 characters",
		newShim+" Its jti has 16 to 128 characters.", Never)

	ShimCapability = failure(409, "ERROR", "SVC_TRUSTED_SHIM_CAPABILITY_MISSING",
		"the shim cannot enforce a profile of the policy",
		"Use a shim that can enforce every profile of the policy, or leave the profile out.", Never)

	ShimBinding = failure(409, "ERROR", "SVC_TRUSTED_SHIM_POLICY_BINDING_INVALID",
		"the activation is for another policy or operator public key",
		newShim+" It has to name this policy and this operator public key.", Never)

	ShimReplayed = failure(409, "ERROR", "SVC_TRUSTED_SHIM_ATTESTATION_REPLAYED",
		"the activation was used before",
		newShim, Never)

	HoldResolved = failure(409, "ERROR", "SVC_HOLD_RESOLVED",
		"the hold was resolved before",
		"Nothing: a hold is decided once. Read it to see how.", Never)

	HoldSignature = failure(403, "ERROR", "SVC_HOLD_SIGNATURE_INVALID",
		"the resolution is not signed by the operator key that the API key is pinned to",
		"Sign the resolution with the operator key of the policy: `bailiff holds approve --key FILE`.", Never)

	StatementInvalid = failure(403, "ERROR", "SVC_OPERATOR_STATEMENT_INVALID",
		"the statement is not signed by the service's operator, for this service and now",
		"Sign it with the operator's present key, and the issuer of the service: `bailiff freeze --url URL --key FILE --issuer NAME`.", Never)

	StatementUsed = failure(409, "ERROR", "SVC_OPERATOR_STATEMENT_USED",
		"a statement with this serial or a higher one was carried out before",
		"Sign another statement with a higher serial; the message names the last one.", Never)

	WebhookURL = failure(400, "ERROR", "SVC_WEBHOOK_URL_REFUSED",
		"the url of the webhook is refused; the message says why",
		"Register an https URL whose host has public addresses; the message names the problem.", Never)

	TooManyWebhooks = failure(409, "ERROR", "SVC_WEBHOOK_LIMIT_REACHED",
		"the API key has as many webhooks as it may have",
		"Remove a webhook first.", Mended)

	TooManyPinnedServers = failure(409, "ERROR", "SVC_PINNED_SERVER_LIMIT_REACHED",
		"the API key has pinned tools of as many MCP servers as it may",
		"Have the operator forget a server that is not in use: `bailiff mcp forget --server NAME`.", Mended)

	TooManyPinnedTools = failure(409, "ERROR", "SVC_PINNED_TOOL_LIMIT_REACHED",
		"the API key has pinned as many tools of the MCP server as it may",
		"Have the operator forget tools that the server does not list any more, or take a server with fewer tools: `bailiff mcp forget --server NAME TOOL`.", Mended)

	PinnedBytesFull = failure(409, "ERROR", "SVC_PINNED_BYTES_LIMIT_REACHED",
		"the definitions of tools that the API key has pinned come to as many bytes as they may",
		"Have the operator forget servers or tools that are not in use: `bailiff mcp forget --server NAME`.", Mended)

	LimitStoreUnavailable = failure(503, "UNAVAILABLE", "SVC_RATE_LIMIT_STORE_UNAVAILABLE",
		"the rate limit cannot be judged, so the request is refused",
		"Nothing: too many sources or keys are counted at once, and those that cannot be counted are refused.", Later)

	AttestationRequired = failure(401, "UNAUTHORIZED", "SVC_ATTESTATION_REQUIRED",
		"a write on a gateway carries no attestation",
		"Authorize the write, and send the attestation in the header Authorization or Svc-Receipt.", Never)

	AttestationInvalid = failure(401, "UNAUTHORIZED", "SVC_ATTESTATION_INVALID",
		"the attestation is malformed, not one of this service, or its signature is wrong",
		askAgain+" Send it unchanged, and to the service that issued it.", Never)

	AttestationExpired = failure(401, "UNAUTHORIZED", "SVC_ATTESTATION_EXPIRED",
		"the attestation has expired; authorize again",
		askAgain, Never)

	ChainUnsupported = failure(400, "ERROR", "SVC_CHAIN_NOT_SUPPORTED",
		"the gateway does not serve the chain",
		"Use a chain that SVC_RPC_CHAINS lists and that has a node: SVC_RPC_URL_<chainId>, or SVC_BUNDLER_URL_<chainId>.", Mended)

	PolicyViolation = failure(200, "ERROR", "SVC_POLICY_VIOLATION",
		"a write does not fit its attestation or the policy in force; in a JSON-RPC error, whose data.reason says why",
		"Read data.reason. "+askAgain+" Declare exactly what the signed bytes do.", Never)

	RPCMethod = failure(200, "ERROR", "SVC_RPC_METHOD_NOT_ALLOWED",
		"the gateway does not let the JSON-RPC method through; in a JSON-RPC error",
		"Use a method of docs/clients.md; send everything else to a node of your own.", Never)

	UpstreamUnavailable = failure(200, "ERROR", "SVC_UPSTREAM_UNAVAILABLE",
		"the chain's node did not answer, or not with JSON-RPC; in a JSON-RPC error",
		"Reads: send them again. A write may have been submitted: look for its receipt first, then authorize it again.", Later)

	GatewayBusy = failure(200, "ERROR", "SVC_GATEWAY_BUSY",
		"the answers of chains' nodes that clients have yet to read take all the memory that they may; in a JSON-RPC error",
		"Read answers as they come, and ask for less at once, such as fewer blocks of logs. Then send the read again.", Later)
)

// Lookup returns the row of c, and the row of Internal where c is unknown: a code that is not documented
// must not reach the wire.
func Lookup(c Code) Info {
	if info, ok := byCode[c]; ok {
		return info
	}
	return byCode[Internal]
}
