// Has a passkey sign what a form is about before the form is sent.
"use strict";

function bytes(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

function text(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function options(json) {
  const publicKey = JSON.parse(json);
  publicKey.challenge = bytes(publicKey.challenge);
  if (publicKey.user) publicKey.user.id = bytes(publicKey.user.id);
  for (const credential of publicKey.allowCredentials ?? []) credential.id = bytes(credential.id);
  for (const credential of publicKey.excludeCredentials ?? []) credential.id = bytes(credential.id);
  return { publicKey };
}

function answer(credential) {
  const given = credential.response;
  const response = { clientDataJSON: text(given.clientDataJSON) };
  if (given.attestationObject) {
    response.attestationObject = text(given.attestationObject);
  } else {
    response.authenticatorData = text(given.authenticatorData);
    response.signature = text(given.signature);
    if (given.userHandle) response.userHandle = text(given.userHandle);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: {} });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter ?? form.querySelector("button");
    const say = form.querySelector("[role=status]");
    if (!window.PublicKeyCredential) {
      say.textContent = "This browser knows no passkeys here. Passkeys need https, or localhost.";
      return;
    }
    for (const other of form.querySelectorAll("button")) other.disabled = true;
    say.textContent = "Waiting for the passkey.";
    try {
      const made = await navigator.credentials[form.dataset.passkey](options(button.dataset.options));
      form.elements.answer.value = answer(made);
      if (form.elements.decision) form.elements.decision.value = button.dataset.decision;
      form.submit();
    } catch (failure) {
      say.textContent = "The passkey did not answer: " + failure.message;
      for (const other of form.querySelectorAll("button")) other.disabled = false;
    }
  });
}

const until = document.querySelector("[data-until]");
if (until) {
  const ends = Date.parse(until.dataset.until);
  const tick = () => {
    const left = Math.max(0, Math.round((ends - Date.now()) / 1000));
    const parts = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
    until.textContent = left ? "in " + parts.map((n) => String(n).padStart(2, "0")).join(":") : "now: it can't be decided any more";
  };
  tick();
  setInterval(tick, 1000);
}
