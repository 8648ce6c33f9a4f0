package gateway

import (
	"bailiff/runtime/jcs"
	"bailiff/vm/errcode"
)

// The codes of JSON-RPC errors that a gateway answers itself (JSON-RPC 2.0, section 5.1; EIP-1474).
const (
	rpcMethodNotFound = "-32601"
	rpcInvalidParams  = "-32602" // a write that does not fit (specification, gateways.4)
	rpcServerError    = "-32000" // the upstream, or the service itself, could not answer
)

// A Response is the answer of a gateway. Where Code is set it is an HTTP error of that code with Message; otherwise Body is
// a JSON-RPC response, which goes out with HTTP 200.
type Response struct {
	Code    errcode.Code
	Message string
	HTTP    int // the status of such an error; 0 for that of Code
	Body    []byte
	// Unfit says that a write with a good attestation was refused: it does not fit, or the attestation is used up.
	Unfit bool
	held  *held // counts Body; nil where it is the gateway's own
}

// Held reports whether the memory of Body counts against the budget of upstream answers, and so has to be released.
func (r *Response) Held() bool { return r.held != nil }

// Release says that Body is no longer used: it was sent, or never will be.
func (r *Response) Release() {
	if r.held != nil {
		r.held.release()
	}
}

func httpFailure(c errcode.Code, message string) *Response {
	return &Response{Code: c, Message: message}
}

// rpcError returns a JSON-RPC error with data.reason, and the id of its request; null where that had none.
func rpcError(id []byte, number string, c errcode.Code, reason string) *Response {
	body := appendID(make([]byte, 0, 192+len(id)+len(reason)), id)
	body = append(append(append(body, `,"error":{"code":`...), number...), `,"message":`...)
	body = jcs.AppendString(body, string(c))
	body = jcs.AppendString(append(body, `,"data":{"reason":`...), reason)
	return &Response{Body: append(body, `}}}`...)}
}

// appendID opens a response with the id of its request.
func appendID(dst, id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	return append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
}
