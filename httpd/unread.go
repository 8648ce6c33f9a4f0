package httpd

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// refuseUnread answers a request that could not be read as a whole.
func refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, errTrailer):
		writeFailure(ctx, schemaFailure(err.Error()))
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		strict.Discard(ctx.Conn(), strict.DiscardBytes)
		writeFailure(ctx, &service.Failure{Code: errcode.BodyTooLarge, Message: "the body is larger than this route accepts"})
	case errors.As(err, &small):
		writeFailure(ctx, statusFailure(fasthttp.StatusRequestHeaderFieldsTooLarge, "the headers are larger than 32 KiB"))
	case errors.As(err, &network) && network.Timeout():
		writeFailure(ctx, statusFailure(fasthttp.StatusRequestTimeout, "the request did not arrive in time"))
	default:
		writeFailure(ctx, schemaFailure("the request is not well-formed HTTP"))
	}
	ctx.SetConnectionClose()
}
