// Package strict hardens fasthttp, a server that is fast and trusts its clients. It knows nothing of the API. Each part
// defends against one kind of client:
//
//   - Framing (framing.go): requests that two readers would cut in different places. A proxy in front and fasthttp behind it
//     would then disagree on where a request ends, and a client could hide one request in another. [Framing] refuses repeated
//     lengths, folded headers, bare line feeds and odd names; [MarkEnd] and [HasTrailer] find headers that follow a body.
//   - Deadlines (deadline.go): clients that send or read one byte at a time. Each connection has a read and a write deadline,
//     enforced once a second for all connections together, because a timer per request costs more than a decision.
//   - Bounded reads (deadline.go): chunk extensions without end, which fasthttp reads and throws away. [Conn.ReadWithin] bounds
//     what a stream may read from its connection.
//   - Pipelines (deadline.go): many requests in one packet, which would keep a processor from other connections. [Pipelined]
//     says when a handler has to yield.
//   - Watching (deadline.go): clients that leave while their request waits for an answer. [Watch] ends the wait.
//   - Draining (drain.go): a shutdown must not lose a request that is on its way on an idle connection. [Server] asks clients
//     to leave, gives them a moment to do so, and ends reads that take longer.
//   - Logs (log.go): clients that fill the log, or put secrets into it, with malformed requests. [Logger] drops what fasthttp
//     reports about single connections.
//   - Slots (slots.go): clients that open connections until the process has no files left. [Slots] bounds connections in all and by
//     source, and closes the longest idle one to make room for a new one.
//   - TLS (tls.go): clients that speak plain HTTP to an address with TLS. [NewTLSListener] tells them so; [Secure] says which
//     connections have TLS.
//   - Retries (retry.go): a listener that ends because no file is left. [NewRetryingListener] waits instead.
//   - Draining listeners (listen.go): connections that the kernel has made and no one has accepted yet would be reset when their
//     listener closes. [Listen] accepts them first.
package strict
