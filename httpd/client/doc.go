// Package client asks a Bailiff service for decisions: it authorizes intents, reads holds and waits for them, and submits
// writes through the gateways. Package verify beside it checks the attestations that come back.
//
//	c, err := client.New(client.Config{URL: "https://bailiff.example", Key: key})
//	answer, err := c.Authorize(ctx, &client.Request{
//		Framework: "my-agent", AgentID: "treasury", TxCommit: commit,
//		Intent: client.Intent{Action: "bash", Command: "git status"},
//	})
//	if err != nil || answer.Status != client.Allowed {
//		return // not authorized
//	}
//
// The package promises:
//
//   - A nil error means a decision of the service in the form that the API documents. ALLOWED from [Client.Authorize] comes
//     with an attestation, PENDING with the id of a hold, and the answer to a request with a nonce has that nonce.
//   - A 4xx that is not a decision is a [*Refused]. No connection, a timeout, a redirect, a 5xx and an answer that is
//     malformed or too large are an [*Unreachable]. Any other error is about the request, which was then not sent.
//   - Redirects are not followed, and a proxy from the environment is used for https alone: neither sees the key.
//   - A request is sent a second time only where that cannot count twice: a read, and an Authorize with a nonce.
package client
