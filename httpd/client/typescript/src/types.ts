// Types of the API's bodies, made from /openapi.json by `go test ./httpd -run TestTypeScript -rewrite`.

export type AuthZENConfiguration = {
  access_evaluation_endpoint: string
  access_evaluations_endpoint: string
  policy_decision_point: string
}

export type Base64URL = string

export type Capabilities = {
  engine_version: string
  feature_keys: Array<string>
  features: Array<{
    key: string
    since: string
    type: string
  }>
  schema_version: string
  supported_policy_versions: Array<string>
}

export type Conformance = {
  asserted_at: string
  attestation_algorithms: Array<"EdDSA" | "ML-DSA-65">
  capabilities_uri?: string
  classes: Array<string>
  /** core: without the gateways */
  conformance_level: "full" | "core"
  /** of who runs the service, empty where it is not set */
  contact: string
  evaluated_against: string
  /** what is beyond the specification */
  extended_capabilities: Array<string>
  implementation_name: string
  implementer: string
  issuer: string
  jwks_uri: string
  openapi_uri?: string
  policy_schema_versions_supported: Array<string>
  pqc_keys_uri: string
  self_asserted: true
  spec_version: string
}

export type CreatedWebhook = {
  created_at: Time
  disabled: boolean
  events: Topics
  /** the form of its messages; absent where they are signed JSON */
  format?: "slack" | "ntfy" | "email"
  id: UUID
  /** shown this once */
  secret: string
  url: string
}

export type Decision = {
  /** where approvers decide the hold with a passkey; absent where the service has no such pages */
  approvalUrl?: string
  details?: Details
  error_code?: DecisionCode
  expiresAt?: Seconds
  explanation?: Explanation
  holdId?: UUID
  /** the attestation, a JWT; null unless authorize allowed */
  intent_attestation: string | null
  /** the rule, as section.key */
  matched_rule?: string
  message: string
  observe_mode_active?: boolean
  policyHash: Hash
  policyRule?: string
  /** the same request was allowed before, and this is that decision again: the attestation has the same jti, iat and exp, and nothing was counted twice */
  replayed?: true
  request_nonce?: string
  status: "ALLOWED" | "DENIED" | "PENDING"
  test_run?: true
}

export type DecisionCode = "SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED" | "SVC_POLICY_VIOLATION_AMOUNT_INVALID" | "SVC_POLICY_VIOLATION_AMOUNT_REQUIRED" | "SVC_POLICY_VIOLATION_TOKEN_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_EXCEEDED" | "SVC_POLICY_VIOLATION_TOKEN_AMOUNT_INVALID" | "SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_BLOCKED_COMMAND" | "SVC_POLICY_VIOLATION_BLOCKED_DOMAIN" | "SVC_POLICY_VIOLATION_BLOCKED_PATH" | "SVC_POLICY_VIOLATION_CUSTOM_RULE" | "SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST" | "SVC_POLICY_VIOLATION_PROVENANCE_REQUIRED" | "SVC_POLICY_VIOLATION_TASK_ID_REQUIRED" | "SVC_POLICY_VIOLATION_BLOCKED_RECIPIENT" | "SVC_POLICY_VIOLATION_RECIPIENT_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_CALLDATA_ENRICHMENT_REQUIRED" | "SVC_POLICY_VIOLATION_EXECUTION_BOUNDARY_REQUIRED" | "SVC_POLICY_VIOLATION_FILE_EFFECT_REQUIRED" | "SVC_POLICY_VIOLATION_FILE_EFFECT_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_FILE_OUTSIDE_ROOT" | "SVC_POLICY_VIOLATION_FILE_BLOCKED_PATH" | "SVC_POLICY_VIOLATION_FILE_PATH_REQUIRED" | "SVC_POLICY_VIOLATION_FILE_TARGET_UNTRUSTED" | "SVC_POLICY_VIOLATION_SENSITIVE_FILE" | "SVC_POLICY_VIOLATION_SENSITIVE_EGRESS" | "SVC_POLICY_VIOLATION_IMPACT_LIMIT" | "SVC_POLICY_VIOLATION_REPOSITORY_ROOT_MUTATION" | "SVC_POLICY_VIOLATION_GIT_METADATA_REQUIRED" | "SVC_POLICY_VIOLATION_GIT_OPERATION_BLOCKED" | "SVC_POLICY_VIOLATION_GIT_REF_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_GIT_TOPOLOGY_UNTRUSTED" | "SVC_POLICY_VIOLATION_PROVIDER_UNSUPPORTED" | "SVC_POLICY_VIOLATION_PROVIDER_OPERATION_BLOCKED" | "SVC_POLICY_VIOLATION_DATABASE_METADATA_REQUIRED" | "SVC_POLICY_VIOLATION_DATABASE_OPERATION_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_DATABASE_RESOURCE_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_DATABASE_ROUTINE_NOT_ALLOWED" | "SVC_POLICY_VIOLATION_DATABASE_CAPABILITY_UNTRUSTED" | "SVC_POLICY_VIOLATION_DATABASE_PARSE_FAILED" | "SVC_LOOP_LIMIT_EXCEEDED" | "SVC_MODEL_SPEND_LIMIT_EXCEEDED" | "SVC_MODEL_TOKEN_LIMIT_EXCEEDED" | "SVC_MODEL_USAGE_UNAVAILABLE" | "SVC_AGGREGATE_LIMIT_EXCEEDED" | "SVC_AGGREGATE_FIELD_MISSING" | "SVC_LIMIT_STORE_UNAVAILABLE" | "SVC_POLICY_HOLD_DENIED" | "SVC_POLICY_HOLD_CONSENSUS_REQUIRED" | "SVC_POLICY_HOLD_APPROVAL_REQUIRED"

export type DecisionOrRefusal = Decision | Refusal

export type Deployed = {
  deployedAt: Seconds
  policyHash: Hash
  policyVersion: string
  warnings: Array<unknown>
}

export type Deployment = {
  operator_public_key: Base64URL
  /** the activation JWT, where the policy has a resource profile */
  trusted_shim_attestation?: string
  /** the signed policy file, exactly as it was signed */
  warranty_md: string
}

/** both sides of a decision by a rule; what does not apply is absent */
export type Details = {
  /** the first entries of the list that value is not on, as the policy spells them */
  allowed?: Array<string>
  /** how many entries that list has, where it has more */
  allowed_count?: number
  /** the entry of a list that value is denied by, as the policy spells it */
  entry?: string
  /** a decimal in the unit of value */
  limit?: string
  /** of the rule in the policy that policyHash names */
  line?: number
  /** what the rule is about; where there is a limit, the decimal that is held against it: the amount, or the total that the intent would reach */
  value?: string
}

export type Diagnostic = {
  code: string
  column: number
  line: number
  message: string
  severity: "error" | "warning"
}

export type Document = Record<string, unknown>

export type Error = {
  error_code: FailureCode
  message: string
  status: "ERROR" | "UNAUTHORIZED" | "RATE_LIMITED" | "UNAVAILABLE"
}

export type Evaluated = {
  /** what POST /v1/authorize answers, or error: status, error_code and message of why there is no decision */
  context: Record<string, unknown>
  /** true where the decision is ALLOWED, and in no other case */
  decision: boolean
}

/** decisions in the order of the evaluations; of a request without the list, one decision */
export type EvaluatedAll = {
  context?: Record<string, unknown>
  decision?: boolean
  evaluations?: Array<Evaluated>
}

/** an access request of AuthZEN 1.0; other members are ignored */
export type Evaluation = {
  action: {
    /** the action */
    name: string
    properties?: Properties
  }
  context?: Properties
  resource: {
    id: string
    properties?: Properties
    /** url, path, command and address fill the intent's field of that name */
    type: string
  }
  subject: {
    /** the agent id */
    id: string
    properties?: Properties
    type: string
  }
}

/** several access requests, for which the members beside the list hold where they lack their own; without the list it is one */
export type Evaluations = {
  evaluations?: Array<Record<string, unknown>>
  options?: {
    evaluations_semantic?: "execute_all" | "deny_on_first_deny" | "permit_on_first_permit"
  }
}

export type Event = {
  action?: string
  agentId?: string
  /** of a decision by passkey: all that it takes to verify it; bytes are unpadded base64url */
  approval?: {
    approver: string
    authenticatorData: string
    clientDataJSON: string
    credentialId: string
    nonce: Hash
    /** of the operator's statement about the passkey */
    serial: number
    signature: string
    /** what the approver was shown */
    summary: string
  }
  /** in the delivery of a PENDING decision to a webhook: where approvers decide the hold */
  approvalUrl?: string
  chainId?: number
  commitment?: Hash
  decision?: "ALLOWED" | "DENIED" | "PENDING" | "TEST_RUN"
  details?: EventDetails
  endpoint?: string
  errorCode?: string
  event: string
  /** of a malformed request: what is at fault */
  field?: string
  holdExpiresAt?: Time
  holdId?: UUID
  holdStatus?: "PENDING" | "ALLOWED" | "DENIED" | "EXPIRED"
  id?: string
  keyId: UUID
  kind?: "evm" | "tool" | "mcp" | "model"
  lsn: number
  matchedRule?: string
  message?: string
  /** of a resolution: what who resolved it has to say */
  note?: string
  observed?: boolean
  pins?: Array<{
    change: "pinned" | "changed" | "accepted" | "forgotten"
    sha256?: Hash
    toolName: string
  }>
  /** that the key has from this event on */
  plan?: "developer" | "growth" | "enterprise"
  policyHash?: Hash
  /** of a halt: why */
  reason?: string
  requestId?: string
  rollback?: boolean
  scopes?: Scopes
  /** of a halt: that of the operator's statement, where it was signed */
  serial?: number
  /** the MCP server whose tools were pinned */
  serverId?: string
  subject?: Subject
  timestamp: Time
  value?: string
  webhookChange?: "registered" | "removed" | "disabled" | "enabled"
  webhookId?: UUID
}

/** both sides of a decision by a rule; what does not apply is absent */
export type EventDetails = {
  /** the first entries of the list that value is not on, as the policy spells them */
  allowed?: Array<string>
  /** how many entries that list has, where it has more */
  allowedCount?: number
  /** the entry of a list that value is denied by, as the policy spells it */
  entry?: string
  /** a decimal in the unit of value */
  limit?: string
  /** of the rule in the policy that policyHash names */
  line?: number
  /** what the rule is about; where there is a limit, the decimal that is held against it: the amount, or the total that the intent would reach */
  value?: string
}

export type Events = {
  events: Array<Event>
  more: boolean
  /** the after of the page that follows */
  next: string
}

export type Explanation = {
  /** the smallest change that would be allowed */
  change?: string
  holds?: Array<Finding>
  limits: Array<Headroom>
  notes?: Array<Finding>
  /** violations that are not listed */
  omitted?: number
  violations: Array<Finding>
}

export type FailureCode = "SVC_VALIDATION_ERROR_SCHEMA" | "SVC_VALIDATION_ERROR_CHAIN_NOT_ALLOWED" | "SVC_API_KEY_REQUIRED" | "SVC_API_KEY_INVALID" | "SVC_API_KEY_WRONG_ENV" | "SVC_API_KEY_SCOPE_INSUFFICIENT" | "SVC_NOT_FOUND" | "SVC_METHOD_NOT_ALLOWED" | "SVC_BODY_TOO_LARGE" | "SVC_RATE_LIMITED" | "SVC_OVERLOADED" | "SVC_INTERNAL_ERROR" | "SVC_STORE_UNAVAILABLE" | "SVC_SERVICE_METADATA_UNAVAILABLE" | "SVC_NO_POLICY_DEPLOYED" | "SVC_QUOTA_EXCEEDED" | "SVC_TIER_INSUFFICIENT" | "SVC_REGISTRATION_CLOSED" | "SVC_WARRANTY_INVALID" | "SVC_WARRANTY_SIGNATURE_INVALID" | "SVC_WARRANTY_OPERATOR_KEY_MISMATCH" | "SVC_WARRANTY_ROLLBACK" | "SVC_CLOCK_UNCONFIRMED" | "SVC_WARRANTY_KEY_NOT_NAMED" | "SVC_KEY_SUSPENDED" | "SVC_FROZEN" | "SVC_WARRANTY_TOO_HEAVY" | "SVC_WARRANTY_COMPILE_TIME" | "SVC_WARRANTY_BUSY" | "SVC_WARRANTY_RATE_LIMITED" | "SVC_WARRANTY_STORAGE_FULL" | "SVC_EVALUATION_BUSY" | "SVC_TRUSTED_SHIM_REQUIRED" | "SVC_TRUSTED_SHIM_ATTESTATION_REQUIRED" | "SVC_TRUSTED_SHIM_ATTESTATION_MALFORMED" | "SVC_TRUSTED_SHIM_UNTRUSTED" | "SVC_TRUSTED_SHIM_ISSUER_INVALID" | "SVC_TRUSTED_SHIM_AUDIENCE_INVALID" | "SVC_TRUSTED_SHIM_IDENTITY_INVALID" | "SVC_TRUSTED_SHIM_VERSION_REQUIRED" | "SVC_TRUSTED_SHIM_VERSION_UNSUPPORTED" | "SVC_TRUSTED_SHIM_ATTESTATION_EXPIRED" | "SVC_TRUSTED_SHIM_NONCE_INVALID" | "SVC_TRUSTED_SHIM_CAPABILITY_MISSING" | "SVC_TRUSTED_SHIM_POLICY_BINDING_INVALID" | "SVC_TRUSTED_SHIM_ATTESTATION_REPLAYED" | "SVC_HOLD_RESOLVED" | "SVC_HOLD_SIGNATURE_INVALID" | "SVC_OPERATOR_STATEMENT_INVALID" | "SVC_OPERATOR_STATEMENT_USED" | "SVC_WEBHOOK_URL_REFUSED" | "SVC_WEBHOOK_LIMIT_REACHED" | "SVC_PINNED_SERVER_LIMIT_REACHED" | "SVC_PINNED_TOOL_LIMIT_REACHED" | "SVC_PINNED_BYTES_LIMIT_REACHED" | "SVC_RATE_LIMIT_STORE_UNAVAILABLE" | "SVC_ATTESTATION_REQUIRED" | "SVC_ATTESTATION_INVALID" | "SVC_ATTESTATION_EXPIRED" | "SVC_CHAIN_NOT_SUPPORTED" | "SVC_POLICY_VIOLATION" | "SVC_RPC_METHOD_NOT_ALLOWED" | "SVC_UPSTREAM_UNAVAILABLE" | "SVC_GATEWAY_BUSY"

export type Fault = {
  error_code: FailureCode
  /** the path of the field, such as intent.method */
  field: string
  message: string
}

export type Finding = {
  details?: Details
  error_code: string
  line: number
  message: string
  rule: string
  value?: string
}

export type HaltState = {
  halted: boolean
  issuer: string
  keyId?: UUID
  reason?: string
  serial: number
  since?: Time
}

export type HaltStatement = {
  action: "freeze" | "thaw" | "suspend" | "resume"
  /** of suspend and resume */
  key_id?: UUID
  operator_signature: Base64URL
  reason?: string
  /** above that of every statement before about the same */
  serial: number
  signed_at: Seconds
}

export type Hash = string

export type Headroom = {
  group?: Record<string, string>
  left?: string
  limit: string
  line: number
  missing?: Array<string>
  resets_at?: Time
  rule: string
  unit?: string
  used?: string
  window: string
}

export type Health = {
  status: "ok"
}

export type Hold = {
  agentId: string
  createdAt: Seconds
  /** the entry of the rule's list that asks for a decision; absent where it is not about one */
  entry?: string
  expiresAt: Seconds
  holdId: UUID
  /** the source intent: agentId, chainId and intent, in normal form */
  intent: Record<string, unknown>
  intentHash: Hash
  /** the intent's maxFee in wei, which intentHash does not cover; absent where none was declared */
  maxFeeBase?: string
  method: string
  /** what who resolved it has to say; absent where nothing */
  note?: string
  /** the policy that holds: its hash and version */
  policy: Record<string, unknown>
  policyHash: Hash
  policyRule: string
  policyVersion: string
  /** Unix seconds; null while pending */
  resolvedAt: number | null
  status: "PENDING" | "ALLOWED" | "DENIED" | "EXPIRED"
}

/** empty where the call may run, otherwise a denial */
export type HookAnswer = {
  hookSpecificOutput?: {
    hookEventName: "PreToolUse"
    permissionDecision: "deny"
    permissionDecisionReason: string
  }
}

/** what Claude Code sends to a PreToolUse hook of type http; other members are ignored */
export type HookEvent = {
  cwd?: string
  hook_event_name: "PreToolUse"
  session_id?: string
  tool_input: Record<string, unknown> | string
  tool_name: string
  tool_use_id?: string
}

export type Intent = {
  /** 1 to 128 characters of printable ASCII, no white space */
  action?: string
  /** 1 to 256 characters, no control characters */
  agentId: string
  /** any text; the policy's section judges its form */
  amount?: string
  /** one of 1, 10, 56, 137, 999, 8453, 42161 */
  chainId?: number
  /** any text */
  context?: string
  /** 1 to 64 of a-z, 0-9 and hyphen */
  framework: string
  intent?: {
    /** 1 to 128 characters of printable ASCII, no white space */
    action?: string
    /** any text; the policy's section judges its form */
    amount?: string
    /** `base` */
    amount_unit?: string
    /** any object */
    arguments?: Record<string, unknown>
    /** 0x and an even number of hexadecimal digits */
    calldata?: string
    /** any text */
    command?: string
    /** an absolute path; the directory that a relative `path` starts from */
    cwd?: string
    /** any text; beside `url` the host of that URL */
    host?: string
    /** the most that gas may cost, in native units, such as 0.01; the policy's section judges its form */
    maxFee?: string
    /** any object; `model_usage`, and `serverId` and `toolName` of MCP actions, are checked */
    metadata?: Record<string, unknown>
    /** one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE */
    method?: string
    /** any text; beside `url` the path of that URL */
    path?: string
    /** 1 to 256 texts, with the actions `file_write` and `file_read` only, and not beside `path` or `url` */
    paths?: Array<string>
    /** any text; beside `url` the query of that URL, without `?` */
    query?: string
    /** an address; read in lower case */
    targetAddress?: string
    /** 1 to 128 of A-Z, a-z, 0-9, underscore and hyphen */
    task_id?: string
    /** any text; addresses are read in lower case */
    to?: string | Array<string>
    /** a symbol, or an address, which is read in lower case; not empty */
    token?: string
    /** an http or https URL with a host */
    url?: string
  }
  /** up to 64 characters */
  request_nonce?: string
  /** any text; addresses are read in lower case */
  to?: string | Array<string>
  /** 64 lower-case hexadecimal digits */
  txCommit?: string
  /** 0x and 64 hexadecimal digits, for `erc4337.userop` only; read in lower case */
  userOpHash?: string
}

export type InvalidPolicy = {
  diagnostics?: Array<Diagnostic>
  error_code: FailureCode
  message: string
  status: "ERROR"
}

export type JWKS = {
  keys: Array<{
    alg: "EdDSA"
    crv: "Ed25519"
    kid: Base64URL
    kty: "OKP"
    use: "sig"
    x: Base64URL
  }>
}

/** what is used and left of a limit, in decimals of its unit */
export type Limit = {
  /** what tells the limit apart from others of the same rule */
  counter?: string
  /** the limit counts these apart; used and left are of each group then */
  groupBy?: Array<string>
  /** the groups that are in use, most used first */
  groups?: Array<LimitGroup>
  left?: string
  limit: string
  /** of the rule in the policy, from 1; 0 where it is not known */
  line: number
  /** there may be groups in use that are not listed */
  moreGroups?: boolean
  resetsAt?: Time
  rule: string
  unit?: string
  used?: string
  window: "hour" | "day" | "task"
}

export type LimitGroup = {
  /** the values of groupBy */
  group: Array<string>
  left: string
  used: string
}

export type Limits = {
  at: Time
  keyId: UUID
  limits: Array<Limit>
  policyHash: Hash
}

export type ListedTools = {
  /** the MCP server, as actions name it: lower case */
  server: string
  tools: Array<{
    /** what tools/list says of the tool, in RFC 8785 form */
    definition: string
    name: string
  }>
}

/** a code, a colon and a message */
export type Message = string

export type Metadata = {
  /** the full id of the commit that the build is bound to */
  serviceCommit: string
}

export type NewWebhook = {
  events: Topics
  /** standard where absent: signed JSON; email is for the operator to register */
  format?: "standard" | "slack" | "ntfy" | "email"
  /** made where absent */
  secret?: string
  url: string
}

export type Operator = {
  current: Base64URL
  issuer: string
  replaced?: Array<Base64URL>
  serial: number
}

export type PQCKeys = {
  keys: Array<{
    alg: "ML-DSA-65"
    ctx: "svc-pqc-attestation-v1"
    kid: Base64URL
    kty: "AKP"
    pub: Base64URL
    use: "sig"
  }>
}

export type Pin = {
  acceptedAt: Time
  /** a definition that a server has shown instead, and that the operator has not accepted */
  changed?: {
    seenAt: Time
    sha256: Hash
  }
  name: string
  sha256: Hash
}

export type Pins = {
  server: string
  tools: Array<Pin>
}

/** any members; rules of ## custom see them below metadata.authzen */
export type Properties = Record<string, unknown>

export type RPCID = string | number | null

export type RPCRequest = {
  id?: RPCID
  jsonrpc: "2.0"
  method: string
  params?: Array<unknown>
}

export type RPCResponse = {
  error?: {
    code: number
    data?: unknown
    message: string
  }
  id: RPCID
  jsonrpc: "2.0"
  result?: unknown
}

export type Readiness = {
  checks: Array<{
    /** ledger, policy, signing, disk or clock; service where the service itself is starting or ending */
    name: string
    ready: boolean
    reason: string
  }>
  status: "ready" | "not ready"
}

/** a request that was not decided: there is no policyHash, and nothing is recorded as a decision; what answers 401, 409 or 429 may be sent again */
export type Refusal = {
  error_code: FailureCode
  /** all faults of the body, in the order of the checks; absent where the body cannot be read */
  errors?: Array<Fault>
  message: string
  status: "DENIED"
}

export type Registered = {
  /** shown this once */
  api_key: string
  created_at: Time
  key_id: UUID
  plan: "developer" | "growth" | "enterprise"
  scopes: Scopes
}

export type Registration = {
  email: string
  organization?: string
}

export type Resolution = {
  decision: "ALLOWED" | "DENIED"
  operator_signature: Base64URL
  resolved_at: Seconds
}

export type ResponsePolicy = {
  policyHash: Hash
  /** a JWT with typ svc-response-policy+jwt: aud is the id of the API key, rules the compiled response rules; it expires after 5 minutes */
  responsePolicy: string
}

export type RotationStatement = {
  from: Base64URL
  operator_signature: Base64URL
  /** above that of every rotation before */
  serial: number
  signed_at: Seconds
  to: Base64URL
}

export type Scopes = Array<"authorize" | "warranty:deploy" | "webhooks:write">

/** Unix seconds */
export type Seconds = number

/** what the decision was about, with credentials masked; what does not apply is absent */
export type Subject = {
  /** the amount, in the unit */
  amount?: string
  /** the beginning of the command */
  command?: string
  /** how many more there are than path */
  furtherPaths?: number
  /** how many more there are than recipient */
  furtherRecipients?: number
  /** the host, of a web address without its user information and port */
  host?: string
  /** the first path, of a web address without its query */
  path?: string
  /** the first recipient */
  recipient?: string
  /** the address that is called */
  target?: string
  /** the task, which is recorded as it is */
  taskId?: string
  /** the token: its symbol in the policy, otherwise as it was sent, in lower case */
  token?: string
  /** the MCP server and tool */
  tool?: string
  /** the header `traceparent` of the request (W3C Trace Context), which is recorded as it is */
  traceparent?: string
  /** the token of the amount, `ETH` for the native currency, or `base` for base units of a token without a rule */
  unit?: string
}

export type Time = string

export type Topics = Array<"intent.allowed" | "intent.denied" | "intent.pending" | "hold.resolved" | "hold.expired" | "policy.deployed">

export type UUID = string

export type Webhook = {
  created_at: Time
  disabled: boolean
  events: Topics
  /** the form of its messages; absent where they are signed JSON */
  format?: "slack" | "ntfy" | "email"
  id: UUID
  url: string
}

export type Webhooks = Array<Webhook>
