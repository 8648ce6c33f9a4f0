// Verifies attestations without any code of the service: the Ed25519 signature and the registered claims
// with jose, the ML-DSA-65 signature with @noble/post-quantum over a canonical form made here.
//
// Standard input: {"jwks", "pqcKeys", "issuer", "audience", "context", "now", "tokens": [string]}, now in
// Unix seconds. Standard output: an array with {"jose", "noble"} for each token, "ok" or what was wrong.

import { readFileSync } from "node:fs";
import { createLocalJWKSet, jwtVerify } from "jose";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";

// canonical is RFC 8785: JSON.stringify already writes strings and numbers as it demands, and sort()
// orders names by UTF-16 code units.
function canonical(value) {
  if (Array.isArray(value)) {
    return "[" + value.map(canonical).join(",") + "]";
  }
  if (value === null || typeof value !== "object") {
    return JSON.stringify(value);
  }
  const members = Object.keys(value).sort().map((name) => JSON.stringify(name) + ":" + canonical(value[name]));
  return "{" + members.join(",") + "}";
}

async function verifyJose(token, input, keys) {
  const { protectedHeader } = await jwtVerify(token, keys, {
    algorithms: ["EdDSA"],
    issuer: input.issuer,
    audience: input.audience,
    currentDate: new Date(input.now * 1000),
    maxTokenAge: 60,
    requiredClaims: ["exp", "iat", "jti", "sub", "policyHash"],
  });
  const names = Object.keys(protectedHeader).sort().join();
  if (names !== "alg,kid") {
    throw new Error("header holds " + names);
  }
}

function verifyNoble(token, input) {
  const { pqc, ...claims } = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
  const key = input.pqcKeys.keys.find((k) => k.kid === pqc.kid && k.kty === "AKP" && k.alg === "ML-DSA-65");
  if (!key || pqc.alg !== key.alg || pqc.ctx !== input.context || key.ctx !== input.context) {
    throw new Error("pqc names another key, algorithm or context");
  }
  const message = new TextEncoder().encode(canonical(claims));
  const signature = new Uint8Array(Buffer.from(pqc.sig, "base64url"));
  const publicKey = new Uint8Array(Buffer.from(key.pub, "base64url"));
  const context = new TextEncoder().encode(input.context);
  if (!ml_dsa65.verify(signature, message, publicKey, { context })) {
    throw new Error("signature does not verify");
  }
}

async function outcome(verify) {
  try {
    await verify();
    return "ok";
  } catch (error) {
    return String(error.message || error);
  }
}

const input = JSON.parse(readFileSync(0, "utf8"));
const keys = createLocalJWKSet(input.jwks);
const results = [];
for (const token of input.tokens) {
  results.push({
    jose: await outcome(() => verifyJose(token, input, keys)),
    noble: await outcome(() => verifyNoble(token, input)),
  });
}
process.stdout.write(JSON.stringify(results));
