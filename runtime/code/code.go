// Package code is the one table of the error codes on the wire: what each means and which HTTP status carries
// it. Everything that answers, compiles or documents a code takes it from here.
package code

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
	ActionNotAllowed    Code = "SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED"
	ChainNotAllowed     Code = "SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED"
	AmountExceeded      Code = "SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED"
	AmountInvalid       Code = "SVC_POLICY_VIOLATION_AMOUNT_INVALID"
	AmountRequired      Code = "SVC_POLICY_VIOLATION_AMOUNT_REQUIRED"
	TokenNotAllowed     Code = "SVC_POLICY_VIOLATION_TOKEN_NOT_ALLOWED"
	TokenAmountExceeded Code = "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED"
	TokenAmountInvalid  Code = "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_INVALID"
	ToolCallNotAllowed  Code = "SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED"
	BlockedCommand      Code = "SVC_POLICY_VIOLATION_BLOCKED_COMMAND"
	BlockedDomain       Code = "SVC_POLICY_VIOLATION_BLOCKED_DOMAIN"
	BlockedPath         Code = "SVC_POLICY_VIOLATION_BLOCKED_PATH"
	CustomRule          Code = "SVC_POLICY_VIOLATION_CUSTOM_RULE"
	NotOnAllowlist      Code = "SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST"
	ProvenanceRequired  Code = "SVC_POLICY_VIOLATION_PROVENANCE_REQUIRED"
	TaskIDRequired      Code = "SVC_POLICY_VIOLATION_TASK_ID_REQUIRED"
	LoopLimitExceeded   Code = "SVC_LOOP_LIMIT_EXCEEDED"
	AggregateLimit      Code = "SVC_AGGREGATE_LIMIT_EXCEEDED"
	LimitStore          Code = "SVC_LIMIT_STORE_UNAVAILABLE"
	HoldDenied          Code = "SVC_POLICY_HOLD_DENIED"
	HoldConsensus       Code = "SVC_POLICY_HOLD_CONSENSUS_REQUIRED"
	ValidationSchema    Code = "SVC_VALIDATION_ERROR_SCHEMA"
	ValidationChain     Code = "SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED"
	APIKeyRequired      Code = "SVC_API_KEY_REQUIRED"
	APIKeyInvalid       Code = "SVC_API_KEY_INVALID"
	APIKeyWrongEnv      Code = "SVC_API_KEY_WRONG_ENV"
	APIKeyScope         Code = "SVC_API_KEY_SCOPE_INSUFFICIENT"
	NotFound            Code = "SVC_NOT_FOUND"
	MethodNotAllowed    Code = "SVC_METHOD_NOT_ALLOWED"
	BodyTooLarge        Code = "SVC_BODY_TOO_LARGE"
	RateLimited         Code = "SVC_RATE_LIMITED"
	Internal            Code = "SVC_INTERNAL_ERROR"
	StoreUnavailable    Code = "SVC_STORE_UNAVAILABLE"
	MetadataUnavailable Code = "SVC_SERVICE_METADATA_UNAVAILABLE"
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
	{LoopLimitExceeded, Denial, 403, "DENIED", "a tool-call execution limit is exceeded"},
	{AggregateLimit, Denial, 403, "DENIED", "a cap is exceeded, or the key has too many live counter groups"},
	{LimitStore, Denial, 403, "DENIED", "a limit's counter cannot be read or advanced"},
	{HoldDenied, Denial, 403, "DENIED", "the operator denied the hold of this intent"},
	{HoldConsensus, Hold, 202, "PENDING", "the amount reaches a consensus threshold"},
	{ValidationSchema, Failure, 400, "ERROR", "the request does not follow the schema; the message names the field"},
	{ValidationChain, Failure, 400, "ERROR", "chainId is not a supported chain"},
	{APIKeyRequired, Failure, 401, "UNAUTHORIZED", "the request carries no API key"},
	{APIKeyInvalid, Failure, 401, "UNAUTHORIZED", "the API key is malformed, unknown or revoked"},
	{APIKeyWrongEnv, Failure, 401, "UNAUTHORIZED", "the API key belongs to another environment"},
	{APIKeyScope, Failure, 403, "ERROR", "the API key lacks the scope that the route needs"},
	{NotFound, Failure, 404, "ERROR", "there is no such route or resource"},
	{MethodNotAllowed, Failure, 405, "ERROR", "the route does not know the method"},
	{BodyTooLarge, Failure, 413, "ERROR", "the body is larger than the route accepts"},
	{RateLimited, Failure, 429, "RATE_LIMITED", "too many requests or open holds"},
	{Internal, Failure, 500, "ERROR", "the service failed; nothing was allowed"},
	{StoreUnavailable, Failure, 503, "UNAVAILABLE", "the decision could not be made durable; it is unknown whether its record was kept"},
	{MetadataUnavailable, Failure, 503, "UNAVAILABLE", "the build is bound to no commit"},
}

var byCode = func() map[Code]Info {
	index := make(map[Code]Info, len(Table))
	for _, info := range Table {
		index[info.Code] = info
	}
	return index
}()

// Lookup returns the row of c, and the row of Internal where c is unknown: a code that nobody documented
// must not reach the wire.
func Lookup(c Code) Info {
	if info, ok := byCode[c]; ok {
		return info
	}
	return byCode[Internal]
}
