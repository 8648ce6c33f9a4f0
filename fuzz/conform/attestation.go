package conform

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bailiff/httpd/client/verify"
	"bailiff/vm/form/evmaddr"
)

// skew is by how much a time in an answer may differ from what the Date headers say.
const skew = 3 * time.Second

// checkClaims holds the claims of an attestation to the request and the expectation, without looking at its signatures.
func (k *Kit) checkClaims(a *asked) (difference, members) {
	parts := strings.Split(a.token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1]) // there are three
	claims := parse(payload)
	if err != nil || claims == nil {
		return difference{"claims of the attestation", "a JSON object in unpadded base64url", shorten(parts[1])}, nil
	}
	request := parse(a.body)
	wrong := differ(
		same("claim iss", k.issuer, claims.text("iss")), same("claim aud", "svc", claims.text("aud")), same("claim decision", "ALLOWED", claims.text("decision")),
		same("claim policyHash", a.want.policyHash, claims.text("policyHash")), same("claim intentHash", a.want.IntentHash, claims.text("intentHash")),
		same("claim sub", evmaddr.FoldLiterals(request.text("agentId")), claims.text("sub")), same("claim framework", request.text("framework"), claims.text("framework")),
		same("claim txCommit", request.text("txCommit"), claims.text("txCommit")), same("claim userOpHash", strings.ToLower(request.text("userOpHash")), strings.ToLower(claims.text("userOpHash"))),
		sameMember(claims, "mode", ""), a.sameChain(request, claims), a.sameAction(request, claims), a.times(claims),
	)
	if !wrong.any() && !a.want.repeats && !k.firstUse(claims.text("jti")) {
		wrong = difference{"claim jti", "one of its own", claims.text("jti")}
	}
	return wrong, claims
}

func (a *asked) sameChain(request, claims members) difference {
	sent, there := request["chainId"]
	if !there {
		return same("claim chainId", nil, claims["chainId"])
	}
	number, _ := sent.(json.Number)
	value, err := number.Float64() // 1.0 is 1
	if err != nil {
		return difference{}
	}
	return same("claim chainId", int64(value), claims.number("chainId"))
}

func (a *asked) sameAction(request, claims members) difference {
	action := request.object("intent").text("action")
	if action == "" {
		action = request.text("action")
	}
	return same("claim intent.action", strings.ToLower(action), claims.object("intent").text("action"))
}

// times holds when an attestation begins and ends.
func (a *asked) times(claims members) difference {
	issued, expires := claims.number("iat"), claims.number("exp")
	if off := time.Unix(issued, 0).Sub(a.at); !a.want.repeats && (off > skew || off < -skew) {
		return difference{"claim iat", fmt.Sprintf("about %d", a.at.Unix()), fmt.Sprint(issued)}
	}
	return same("claim exp", issued+int64(lifetime/time.Second), expires)
}

// verifyToken holds an attestation to what a relying party checks: both signatures, form, times, commitment and policy. The
// error is that of a context that has ended.
func (k *Kit) verifyToken(ctx context.Context, a *asked) (difference, error) {
	request := parse(a.body)
	want := verify.Expected{TxCommit: request.text("txCommit"), UserOpHash: strings.ToLower(request.text("userOpHash")), PolicyHash: []string{a.want.policyHash}, RefuseObserve: true}
	if chain, ok := request["chainId"].(json.Number); ok {
		value, _ := chain.Float64()
		want.ChainID = uint64(value)
	}
	_, err := k.verifier.Verify(ctx, a.token, want, a.at)
	switch {
	case err == nil:
		return difference{}, nil
	case ctx.Err() != nil: // the keys may be what could not be had
		return difference{}, ctx.Err()
	}
	return difference{"attestation", "one that verifies", verify.Reason(err) + " (" + err.Error() + ")"}, nil
}
