// Package errcode is the one table of the error codes on the wire: what each means and which HTTP status carries
// it. Everything that answers, compiles or documents a code takes it from here.
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
}

// The codes of this build, in the order of the table.
const (
	ActionNotAllowed      Code = "SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED"
	ChainNotAllowed       Code = "SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED"
	AmountExceeded        Code = "SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED"
	AmountInvalid         Code = "SVC_POLICY_VIOLATION_AMOUNT_INVALID"
	AmountRequired        Code = "SVC_POLICY_VIOLATION_AMOUNT_REQUIRED"
	TokenNotAllowed       Code = "SVC_POLICY_VIOLATION_TOKEN_NOT_ALLOWED"
	TokenAmountExceeded   Code = "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED"
	TokenAmountInvalid    Code = "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_INVALID"
	ToolCallNotAllowed    Code = "SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED"
	BlockedCommand        Code = "SVC_POLICY_VIOLATION_BLOCKED_COMMAND"
	BlockedDomain         Code = "SVC_POLICY_VIOLATION_BLOCKED_DOMAIN"
	BlockedPath           Code = "SVC_POLICY_VIOLATION_BLOCKED_PATH"
	CustomRule            Code = "SVC_POLICY_VIOLATION_CUSTOM_RULE"
	NotOnAllowlist        Code = "SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST"
	ProvenanceRequired    Code = "SVC_POLICY_VIOLATION_PROVENANCE_REQUIRED"
	TaskIDRequired        Code = "SVC_POLICY_VIOLATION_TASK_ID_REQUIRED"
	BlockedRecipient      Code = "SVC_POLICY_VIOLATION_BLOCKED_RECIPIENT"
	RecipientNotAllowed   Code = "SVC_POLICY_VIOLATION_RECIPIENT_NOT_ALLOWED"
	CalldataEnrichment    Code = "SVC_POLICY_VIOLATION_CALLDATA_ENRICHMENT_REQUIRED"
	ExecutionBoundary     Code = "SVC_POLICY_VIOLATION_EXECUTION_BOUNDARY_REQUIRED"
	FileEffectRequired    Code = "SVC_POLICY_VIOLATION_FILE_EFFECT_REQUIRED"
	FileEffect            Code = "SVC_POLICY_VIOLATION_FILE_EFFECT_NOT_ALLOWED"
	FileOutsideRoot       Code = "SVC_POLICY_VIOLATION_FILE_OUTSIDE_ROOT"
	FileBlockedPath       Code = "SVC_POLICY_VIOLATION_FILE_BLOCKED_PATH"
	FilePathRequired      Code = "SVC_POLICY_VIOLATION_FILE_PATH_REQUIRED"
	FileTarget            Code = "SVC_POLICY_VIOLATION_FILE_TARGET_UNTRUSTED"
	SensitiveFile         Code = "SVC_POLICY_VIOLATION_SENSITIVE_FILE"
	SensitiveEgress       Code = "SVC_POLICY_VIOLATION_SENSITIVE_EGRESS"
	ImpactLimit           Code = "SVC_POLICY_VIOLATION_IMPACT_LIMIT"
	RootMutation          Code = "SVC_POLICY_VIOLATION_REPOSITORY_ROOT_MUTATION"
	GitMetadata           Code = "SVC_POLICY_VIOLATION_GIT_METADATA_REQUIRED"
	GitOperation          Code = "SVC_POLICY_VIOLATION_GIT_OPERATION_BLOCKED"
	GitRef                Code = "SVC_POLICY_VIOLATION_GIT_REF_NOT_ALLOWED"
	GitTopology           Code = "SVC_POLICY_VIOLATION_GIT_TOPOLOGY_UNTRUSTED"
	Provider              Code = "SVC_POLICY_VIOLATION_PROVIDER_UNSUPPORTED"
	ProviderOperation     Code = "SVC_POLICY_VIOLATION_PROVIDER_OPERATION_BLOCKED"
	DatabaseMetadata      Code = "SVC_POLICY_VIOLATION_DATABASE_METADATA_REQUIRED"
	DatabaseOperation     Code = "SVC_POLICY_VIOLATION_DATABASE_OPERATION_NOT_ALLOWED"
	DatabaseResource      Code = "SVC_POLICY_VIOLATION_DATABASE_RESOURCE_NOT_ALLOWED"
	DatabaseRoutine       Code = "SVC_POLICY_VIOLATION_DATABASE_ROUTINE_NOT_ALLOWED"
	DatabaseCapability    Code = "SVC_POLICY_VIOLATION_DATABASE_CAPABILITY_UNTRUSTED"
	DatabaseParse         Code = "SVC_POLICY_VIOLATION_DATABASE_PARSE_FAILED"
	LoopLimitExceeded     Code = "SVC_LOOP_LIMIT_EXCEEDED"
	ModelSpend            Code = "SVC_MODEL_SPEND_LIMIT_EXCEEDED"
	ModelTokens           Code = "SVC_MODEL_TOKEN_LIMIT_EXCEEDED"
	ModelUsage            Code = "SVC_MODEL_USAGE_UNAVAILABLE"
	AggregateLimit        Code = "SVC_AGGREGATE_LIMIT_EXCEEDED"
	AggregateField        Code = "SVC_AGGREGATE_FIELD_MISSING"
	LimitStore            Code = "SVC_LIMIT_STORE_UNAVAILABLE"
	HoldDenied            Code = "SVC_POLICY_HOLD_DENIED"
	HoldConsensus         Code = "SVC_POLICY_HOLD_CONSENSUS_REQUIRED"
	HoldApproval          Code = "SVC_POLICY_HOLD_APPROVAL_REQUIRED"
	ValidationSchema      Code = "SVC_VALIDATION_ERROR_SCHEMA"
	ValidationChain       Code = "SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED"
	APIKeyRequired        Code = "SVC_API_KEY_REQUIRED"
	APIKeyInvalid         Code = "SVC_API_KEY_INVALID"
	APIKeyWrongEnv        Code = "SVC_API_KEY_WRONG_ENV"
	APIKeyScope           Code = "SVC_API_KEY_SCOPE_INSUFFICIENT"
	NotFound              Code = "SVC_NOT_FOUND"
	MethodNotAllowed      Code = "SVC_METHOD_NOT_ALLOWED"
	BodyTooLarge          Code = "SVC_BODY_TOO_LARGE"
	RateLimited           Code = "SVC_RATE_LIMITED"
	Overloaded            Code = "SVC_OVERLOADED"
	Internal              Code = "SVC_INTERNAL_ERROR"
	StoreUnavailable      Code = "SVC_STORE_UNAVAILABLE"
	MetadataUnavailable   Code = "SVC_SERVICE_METADATA_UNAVAILABLE"
	NoPolicy              Code = "SVC_NO_POLICY_DEPLOYED"
	QuotaExceeded         Code = "SVC_QUOTA_EXCEEDED"
	TierInsufficient      Code = "SVC_TIER_INSUFFICIENT"
	RegistrationClosed    Code = "SVC_REGISTRATION_CLOSED"
	WarrantyInvalid       Code = "SVC_WARRANTY_INVALID"
	WarrantySignature     Code = "SVC_WARRANTY_SIGNATURE_INVALID"
	WarrantyOperator      Code = "SVC_WARRANTY_OPERATOR_KEY_MISMATCH"
	WarrantyRollback      Code = "SVC_WARRANTY_ROLLBACK"
	ClockUnconfirmed      Code = "SVC_CLOCK_UNCONFIRMED"
	WarrantyHeavy         Code = "SVC_WARRANTY_TOO_HEAVY"
	WarrantyTime          Code = "SVC_WARRANTY_COMPILE_TIME"
	WarrantyBusy          Code = "SVC_WARRANTY_BUSY"
	WarrantyRate          Code = "SVC_WARRANTY_RATE_LIMITED"
	WarrantyStorage       Code = "SVC_WARRANTY_STORAGE_FULL"
	EvaluationBusy        Code = "SVC_EVALUATION_BUSY"
	WarrantyNotNamed      Code = "SVC_WARRANTY_KEY_NOT_NAMED"
	ShimRequired          Code = "SVC_TRUSTED_SHIM_REQUIRED"
	ShimAttestation       Code = "SVC_TRUSTED_SHIM_ATTESTATION_REQUIRED"
	ShimMalformed         Code = "SVC_TRUSTED_SHIM_ATTESTATION_MALFORMED"
	ShimUntrusted         Code = "SVC_TRUSTED_SHIM_UNTRUSTED"
	ShimIssuer            Code = "SVC_TRUSTED_SHIM_ISSUER_INVALID"
	ShimAudience          Code = "SVC_TRUSTED_SHIM_AUDIENCE_INVALID"
	ShimIdentity          Code = "SVC_TRUSTED_SHIM_IDENTITY_INVALID"
	ShimVersion           Code = "SVC_TRUSTED_SHIM_VERSION_REQUIRED"
	ShimVersionUnknown    Code = "SVC_TRUSTED_SHIM_VERSION_UNSUPPORTED"
	ShimExpired           Code = "SVC_TRUSTED_SHIM_ATTESTATION_EXPIRED"
	ShimNonce             Code = "SVC_TRUSTED_SHIM_NONCE_INVALID"
	ShimCapability        Code = "SVC_TRUSTED_SHIM_CAPABILITY_MISSING"
	ShimBinding           Code = "SVC_TRUSTED_SHIM_POLICY_BINDING_INVALID"
	ShimReplayed          Code = "SVC_TRUSTED_SHIM_ATTESTATION_REPLAYED"
	HoldResolved          Code = "SVC_HOLD_RESOLVED"
	HoldSignature         Code = "SVC_HOLD_SIGNATURE_INVALID"
	WebhookURL            Code = "SVC_WEBHOOK_URL_REFUSED"
	TooManyWebhooks       Code = "SVC_WEBHOOK_LIMIT_REACHED"
	TooManyPinnedServers  Code = "SVC_PINNED_SERVER_LIMIT_REACHED"
	TooManyPinnedTools    Code = "SVC_PINNED_TOOL_LIMIT_REACHED"
	PinnedBytesFull       Code = "SVC_PINNED_BYTES_LIMIT_REACHED"
	LimitStoreUnavailable Code = "SVC_RATE_LIMIT_STORE_UNAVAILABLE"
	AttestationRequired   Code = "SVC_ATTESTATION_REQUIRED"
	AttestationInvalid    Code = "SVC_ATTESTATION_INVALID"
	AttestationExpired    Code = "SVC_ATTESTATION_EXPIRED"
	ChainUnsupported      Code = "SVC_CHAIN_NOT_SUPPORTED"
	PolicyViolation       Code = "SVC_POLICY_VIOLATION"
	RPCMethod             Code = "SVC_RPC_METHOD_NOT_ALLOWED"
	UpstreamUnavailable   Code = "SVC_UPSTREAM_UNAVAILABLE"
	GatewayBusy           Code = "SVC_GATEWAY_BUSY"
)

// Table is the table of all codes. A code that is not in it is never answered.
var Table = []Info{
	{ActionNotAllowed, Denial, 403, "DENIED", "the action is not granted for the chain"},
	{ChainNotAllowed, Denial, 403, "DENIED", "the chain is not in the policy's allowed_chains"},
	{AmountExceeded, Denial, 403, "DENIED", "the native amount exceeds the per-transaction limit"},
	{AmountInvalid, Denial, 403, "DENIED", "the native amount is not a decimal of at most 18 fraction digits"},
	{AmountRequired, Denial, 403, "DENIED", "the native amount is missing (policies from 2.1)"},
	{TokenNotAllowed, Denial, 403, "DENIED", "no token rule matches the token, or the target is not a pinned address"},
	{TokenAmountExceeded, Denial, 403, "DENIED", "the token amount exceeds the token's max_transaction"},
	{TokenAmountInvalid, Denial, 403, "DENIED", "the token amount is missing or not a decimal of at most the token's decimals"},
	{ToolCallNotAllowed, Denial, 403, "DENIED", "the tool is not granted"},
	{BlockedCommand, Denial, 403, "DENIED", "the command holds a blocked command, cannot be judged, or is missing"},
	{BlockedDomain, Denial, 403, "DENIED", "the host is a blocked domain or below one, or the URL is missing"},
	{BlockedPath, Denial, 403, "DENIED", "the path is a blocked path or below one, cannot be judged, or is missing"},
	{CustomRule, Denial, 403, "DENIED", "a deny_if or deny_string rule applies"},
	{NotOnAllowlist, Denial, 403, "DENIED", "an allow_only field is missing or its value is not listed"},
	{ProvenanceRequired, Denial, 403, "DENIED", "the value counts only from a key whose provenance is a shim"},
	{TaskIDRequired, Denial, 403, "DENIED", "a per-task limit applies and the intent has no task_id"},
	{BlockedRecipient, Denial, 403, "DENIED", "a recipient of the email is on the blocked list, or cannot be read"},
	{RecipientNotAllowed, Denial, 403, "DENIED", "a recipient of the email is missing or not on the allowed list"},
	{CalldataEnrichment, Denial, 403, "DENIED", "the call needs a trusted shim's account of its call data"},
	{ExecutionBoundary, Denial, 403, "DENIED", "a resource profile governs the intent, which needs a trusted shim and metadata.execution"},
	{FileEffectRequired, Denial, 403, "DENIED", "the effects on files are missing or unknown"},
	{FileEffect, Denial, 403, "DENIED", "an effect on files is not allowed"},
	{FileOutsideRoot, Denial, 403, "DENIED", "a file is outside of the allowed roots"},
	{FileBlockedPath, Denial, 403, "DENIED", "a file is at a blocked path, below one, or its path cannot be judged"},
	{FilePathRequired, Denial, 403, "DENIED", "the files that the intent touches are missing"},
	{FileTarget, Denial, 403, "DENIED", "a file's path, its links or its classification cannot be trusted"},
	{SensitiveFile, Denial, 403, "DENIED", "a file is of a protected class"},
	{SensitiveEgress, Denial, 403, "DENIED", "a file of a protected class would leave the machine"},
	{ImpactLimit, Denial, 403, "DENIED", "the intent, or its task, has more effects than allowed, or does not say how many"},
	{RootMutation, Denial, 403, "DENIED", "a root of the repository itself would change"},
	{GitMetadata, Denial, 403, "DENIED", "the git operation or its ref updates are missing or unknown"},
	{GitOperation, Denial, 403, "DENIED", "the git operation is not allowed"},
	{GitRef, Denial, 403, "DENIED", "a protected ref would change"},
	{GitTopology, Denial, 403, "DENIED", "the git repository, worktree or remote cannot be trusted"},
	{Provider, Denial, 403, "DENIED", "the git provider is missing or not supported"},
	{ProviderOperation, Denial, 403, "DENIED", "the operation at the git provider is not allowed"},
	{DatabaseMetadata, Denial, 403, "DENIED", "the account of the database statement is missing"},
	{DatabaseOperation, Denial, 403, "DENIED", "a database operation is not allowed"},
	{DatabaseResource, Denial, 403, "DENIED", "a database resource is missing or not allowed"},
	{DatabaseRoutine, Denial, 403, "DENIED", "a routine is not reviewed"},
	{DatabaseCapability, Denial, 403, "DENIED", "the database credential can do more than read, or does not say what it can do"},
	{DatabaseParse, Denial, 403, "DENIED", "the database statement could not be understood"},
	{LoopLimitExceeded, Denial, 403, "DENIED", "a tool-call execution limit is exceeded"},
	{ModelSpend, Denial, 403, "DENIED", "the task's model spend exceeds the budget"},
	{ModelTokens, Denial, 403, "DENIED", "the task's model tokens exceed the budget"},
	{ModelUsage, Denial, 403, "DENIED", "a model budget applies and metadata.model_usage does not report the usage"},
	{AggregateLimit, Denial, 403, "DENIED", "a cap is exceeded, or the key has too many live counter groups"},
	{AggregateField, Denial, 403, "DENIED", "a value that a cap groups by or adds up is missing or malformed"},
	{LimitStore, Denial, 403, "DENIED", "a limit's counter cannot be read or advanced"},
	{HoldDenied, Denial, 403, "DENIED", "the operator denied the hold of this intent"},
	{HoldConsensus, Hold, 202, "PENDING", "the amount reaches a consensus threshold"},
	{HoldApproval, Hold, 202, "PENDING", "a person has to decide on the action"},
	{ValidationSchema, Failure, 400, "ERROR", "the request does not follow the schema; the message names the field"},
	{ValidationChain, Failure, 400, "ERROR", "chainId is not a supported chain"},
	{APIKeyRequired, Failure, 401, "UNAUTHORIZED", "the request carries no API key"},
	{APIKeyInvalid, Failure, 401, "UNAUTHORIZED", "the API key is malformed, unknown or revoked"},
	{APIKeyWrongEnv, Failure, 401, "UNAUTHORIZED", "the API key belongs to another environment"},
	{APIKeyScope, Failure, 403, "ERROR", "the API key lacks the scope that the route needs"},
	{NotFound, Failure, 404, "ERROR", "there is no such route or resource"},
	{MethodNotAllowed, Failure, 405, "ERROR", "the route does not know the method"},
	{BodyTooLarge, Failure, 413, "ERROR", "the body is larger than the route accepts"},
	{RateLimited, Failure, 429, "RATE_LIMITED", "too many requests or open holds, or too many bytes of request bodies under way from one source"},
	{Overloaded, Failure, 503, "UNAVAILABLE", "the request bodies under way take all the memory that they may; send the request again"},
	{Internal, Failure, 500, "ERROR", "the service failed; nothing was allowed"},
	{StoreUnavailable, Failure, 503, "UNAVAILABLE", "the store failed; it may or may not have recorded the change"},
	{MetadataUnavailable, Failure, 503, "UNAVAILABLE", "the build is bound to no commit"},
	{NoPolicy, Failure, 409, "ERROR", "the API key has no policy yet; deploy one"},
	{QuotaExceeded, Failure, 429, "RATE_LIMITED", "the plan's number of ALLOWED decisions in this month is used up"},
	{TierInsufficient, Failure, 403, "ERROR", "the plan of the account does not have webhooks"},
	{RegistrationClosed, Failure, 403, "ERROR", "the service is self-hosted; its operator makes the API keys"},
	{WarrantyInvalid, Failure, 400, "ERROR", "the policy has errors, which the diagnostics name"},
	{WarrantySignature, Failure, 400, "ERROR", "the policy is unsigned, or its signature does not verify with the operator public key"},
	{WarrantyOperator, Failure, 403, "ERROR", "the API key is pinned to another operator public key"},
	{WarrantyRollback, Failure, 409, "ERROR", "the policy was in force before and replaced since, or its serial is not higher than those that the key has had"},
	{ClockUnconfirmed, Failure, 403, "DENIED", "the service's clock cannot be relied on, so that it decides nothing; 401 for writes on a gateway"},
	{WarrantyNotNamed, Failure, 403, "ERROR", "the policy's keys do not include the API key, or the key takes only policies that name it"},
	{WarrantyHeavy, Failure, 400, "ERROR", "the compiled policy takes too much memory, or too long to judge a request; the diagnostics name the lines"},
	{WarrantyTime, Failure, 400, "ERROR", "the policy takes longer to compile than it may"},
	{WarrantyBusy, Failure, 429, "RATE_LIMITED", "another policy of the key is being compiled, or too many of others"},
	{WarrantyRate, Failure, 429, "RATE_LIMITED", "the key has deployed as many policies in an hour as it may"},
	{WarrantyStorage, Failure, 409, "ERROR", "the policies that were deployed with the key keep as much storage as its plan includes"},
	{EvaluationBusy, Failure, 429, "RATE_LIMITED", "other requests of the key take long to judge, or too many policies are being loaded"},
	{ShimRequired, Failure, 409, "ERROR", "a section that a resource profile needs does not say require_shim: true"},
	{ShimAttestation, Failure, 409, "ERROR", "the policy has a resource profile, and no activation of a trusted shim came with it"},
	{ShimMalformed, Failure, 409, "ERROR", "the activation is no compact JWT, or a claim is missing or of the wrong type"},
	{ShimUntrusted, Failure, 409, "ERROR", "the key of the activation is not trusted, or its signature is wrong"},
	{ShimIssuer, Failure, 409, "ERROR", "the issuer of the activation is not trusted"},
	{ShimAudience, Failure, 409, "ERROR", "the activation is for another service"},
	{ShimIdentity, Failure, 409, "ERROR", "the shim of the activation is not registered"},
	{ShimVersion, Failure, 409, "ERROR", "the activation does not say the version of its shim"},
	{ShimVersionUnknown, Failure, 409, "ERROR", "the version of the shim is not supported"},
	{ShimExpired, Failure, 409, "ERROR", "the activation is not valid now, or for too long"},
	{ShimNonce, Failure, 409, "ERROR", "the nonce of the activation (jti) has not 16 to 128 characters"},
	{ShimCapability, Failure, 409, "ERROR", "the shim cannot enforce a profile of the policy"},
	{ShimBinding, Failure, 409, "ERROR", "the activation is for another policy or operator public key"},
	{ShimReplayed, Failure, 409, "ERROR", "the activation was used before"},
	{HoldResolved, Failure, 409, "ERROR", "the hold was resolved before"},
	{HoldSignature, Failure, 403, "ERROR", "the resolution is not signed by the operator key that the API key is pinned to"},
	{WebhookURL, Failure, 400, "ERROR", "the url of the webhook is refused; the message says why"},
	{TooManyWebhooks, Failure, 409, "ERROR", "the API key has as many webhooks as it may have"},
	{TooManyPinnedServers, Failure, 409, "ERROR", "the API key has pinned tools of as many MCP servers as it may"},
	{TooManyPinnedTools, Failure, 409, "ERROR", "the API key has pinned as many tools of the MCP server as it may"},
	{PinnedBytesFull, Failure, 409, "ERROR", "the definitions of tools that the API key has pinned come to as many bytes as they may"},
	{LimitStoreUnavailable, Failure, 503, "UNAVAILABLE", "the rate limit cannot be judged, so the request is refused"},
	{AttestationRequired, Failure, 401, "UNAUTHORIZED", "a write on a gateway carries no attestation"},
	{AttestationInvalid, Failure, 401, "UNAUTHORIZED", "the attestation is malformed, not one of this service, or its signature is wrong"},
	{AttestationExpired, Failure, 401, "UNAUTHORIZED", "the attestation has expired; authorize again"},
	{ChainUnsupported, Failure, 400, "ERROR", "the gateway does not serve the chain"},
	{PolicyViolation, Failure, 200, "ERROR", "a write does not fit its attestation or the policy in force; in a JSON-RPC error, whose data.reason says why"},
	{RPCMethod, Failure, 200, "ERROR", "the gateway does not let the JSON-RPC method through; in a JSON-RPC error"},
	{UpstreamUnavailable, Failure, 200, "ERROR", "the chain's node did not answer, or not with JSON-RPC; in a JSON-RPC error"},
	{GatewayBusy, Failure, 200, "ERROR", "the answers of chains' nodes that clients have yet to read take all the memory that they may; in a JSON-RPC error"},
}

var byCode = func() map[Code]Info {
	index := make(map[Code]Info, len(Table))
	for _, info := range Table {
		index[info.Code] = info
	}
	return index
}()

// Lookup returns the row of c, and the row of Internal where c is unknown: a code that is not documented
// must not reach the wire.
func Lookup(c Code) Info {
	if info, ok := byCode[c]; ok {
		return info
	}
	return byCode[Internal]
}
