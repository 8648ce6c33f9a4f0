// Package gateway is a proxy between clients and the nodes of the chains: it lets public reads through, and submits a
// signed transaction or a user operation only for an attestation that was issued for exactly that write (specification,
// "Gateways"; decisions, section 6).
//
// A request takes one way. [Gateway.Parse] reads the JSON-RPC body strictly and tells reads from writes by an exact
// list; [Gateway.Serve] then
//
//  1. verifies the attestation: both signatures, issuer, audience, lifetime (otherwise HTTP 401);
//  2. recomputes the commitment from the very bytes that will be sent, decodes them, and compares them with the
//     declared intent: chain, target, value, data and, for token intents, method, amount and recipient;
//  3. judges the call, and what its gas may cost, by the API key and the policy as they are now;
//  4. uses the attestation up in the ledger, and waits until that is durable;
//  5. sends upstream what it encodes anew from what it decoded.
//
// What the package promises: nothing is sent upstream for a write before its attestation is used up; whatever fails
// on the way is a refusal in words; the attestation, the client's headers and the client's id never reach an
// upstream; the address of an upstream never reaches a client. It holds no keys and signs nothing.
//
// Beside package evm, which attacks it, it is the only importer of go-ethereum.
package gateway
