// Package passkey is an authenticator and its browser in software, for tests: it makes passkeys and signs with them as WebAuthn says, and lies where
// a test asks it to.
package passkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// A Device is an authenticator with one passkey, in a browser that shows a page of Origin.
type Device struct {
	Origin string
	ID     []byte // of the passkey; nil before Create
	// Lie changes the parts before they are signed; nil for an honest device.
	Lie func(*Said)
	// Again has Create give the passkey that the device has, whatever the options exclude.
	Again bool

	key *ecdsa.PrivateKey
}

// Said is what a device signs, beside the challenge.
type Said struct {
	RPID        string
	Flags       byte // Present, Verified and Attested
	Type        string
	Challenge   string
	Origin      string
	CrossOrigin bool
}

// The flags of authenticator data (WebAuthn, section 6.1).
const (
	Present  = 1 << 0
	Verified = 1 << 2
	Attested = 1 << 6
)

// options are those of navigator.credentials.create and get that matter here.
type options struct {
	Challenge string
	RPID      string `json:"rpId"`
	RP        struct{ ID string }

	ExcludeCredentials []struct{ ID string }
}

// ErrExcluded says that the options exclude a device which has a passkey that they name.
var ErrExcluded = errors.New("the device has a passkey of this person already")

// make makes a new passkey, unless the options exclude the device.
func (d *Device) make(text []byte) (err error) {
	var asked options
	if err := json.Unmarshal(text, &asked); err != nil {
		return fmt.Errorf("the options can't be read: %w", err)
	}
	if d.Again {
		return nil
	}
	for _, other := range asked.ExcludeCredentials {
		if d.ID != nil && other.ID == encode(d.ID) {
			return ErrExcluded
		}
	}
	if d.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	d.ID = make([]byte, 16)
	_, err = rand.Read(d.ID)
	return err
}

func (d *Device) say(text []byte, of string, flags byte) (authenticator, client []byte, err error) {
	var asked options
	if err := json.Unmarshal(text, &asked); err != nil {
		return nil, nil, fmt.Errorf("the options can't be read: %w", err)
	}
	said := Said{RPID: asked.RPID + asked.RP.ID, Flags: flags, Type: of, Challenge: asked.Challenge, Origin: d.Origin}
	if d.Lie != nil {
		d.Lie(&said)
	}
	client, err = json.Marshal(map[string]any{"type": said.Type, "challenge": said.Challenge, "origin": said.Origin, "crossOrigin": said.CrossOrigin})
	hash := sha256.Sum256([]byte(said.RPID))
	authenticator = append(append(hash[:], said.Flags), 0, 0, 0, 0) // passkeys that are synchronized count no signatures
	return authenticator, client, err
}

// Create makes the passkey, and returns the browser's answer to options of navigator.credentials.create, as JSON.
func (d *Device) Create(options []byte) (string, error) {
	authenticator, client, err := d.say(options, "webauthn.create", Present|Verified|Attested)
	if err != nil {
		return "", err
	}
	if err := d.make(options); err != nil {
		return "", err
	}
	point, err := d.key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		return "", err
	}
	public, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		return "", err
	}
	authenticator = append(authenticator, make([]byte, 16)...) // of no model
	authenticator = binary.BigEndian.AppendUint16(authenticator, uint16(len(d.ID)))
	authenticator = append(append(authenticator, d.ID...), public...)
	object, err := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": authenticator})
	if err != nil {
		return "", err
	}
	return d.answer(map[string]string{"clientDataJSON": encode(client), "attestationObject": encode(object)})
}

// Get signs, and returns the browser's answer to options of navigator.credentials.get, as JSON.
func (d *Device) Get(options []byte) (string, error) {
	authenticator, client, err := d.say(options, "webauthn.get", Present|Verified)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte(nil), authenticator...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	if err != nil {
		return "", err
	}
	return d.answer(map[string]string{"clientDataJSON": encode(client), "authenticatorData": encode(authenticator), "signature": encode(signature)})
}

func (d *Device) answer(response map[string]string) (string, error) {
	text, err := json.Marshal(map[string]any{"id": encode(d.ID), "rawId": encode(d.ID), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}})
	return string(text), err
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
