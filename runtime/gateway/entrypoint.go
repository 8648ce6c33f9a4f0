package gateway

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/vm/form/evmaddr"
)

// A Version is a version of the EntryPoint contract: it decides how a user operation is written and hashed.
type Version uint8

// The versions (ERC-4337).
const (
	V06 Version = iota + 1
	V07
	V08
)

var versionNames = [...]string{V06: "0.6", V07: "0.7", V08: "0.8"}

// String returns the version as settings spell it.
func (v Version) String() string {
	if int(v) < len(versionNames) && v > 0 {
		return versionNames[v]
	}
	return fmt.Sprintf("Version(%d)", uint8(v))
}

// EntryPoints are the EntryPoint contracts that user operations may go to.
type EntryPoints map[common.Address]Version

// canonicalEntryPoints are where the contracts lie on every chain.
const canonicalEntryPoints = "0.6:0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789," +
	"0.7:0x0000000071727de22e5e9d8baf0edac6f37da032," +
	"0.8:0x4337084d9e255ff0702461cf8895ce9e3b5ff108"

// parseEntryPoints reads a list as SVC_ENTRY_POINTS has it: VERSION:ADDRESS, separated by commas. An empty text is
// for the canonical contracts of all versions.
func parseEntryPoints(text string) (EntryPoints, error) {
	if text == "" {
		text = canonicalEntryPoints
	}
	points := EntryPoints{}
	for item := range strings.SplitSeq(text, ",") {
		name, spelled, _ := strings.Cut(strings.TrimSpace(item), ":")
		version := versionOf(name)
		normal, err := evmaddr.Normalize(spelled)
		if version == 0 || err != nil {
			return nil, fmt.Errorf("%q is not an entry point; write VERSION:ADDRESS with a version of 0.6, 0.7 or 0.8", item)
		}
		at := addressOf(normal)
		if _, twice := points[at]; twice {
			return nil, fmt.Errorf("the entry point %s is listed twice", normal)
		}
		points[at] = version
	}
	return points, nil
}

// UnmarshalText reads a list as parseEntryPoints does.
func (p *EntryPoints) UnmarshalText(text []byte) (err error) {
	*p, err = parseEntryPoints(string(text))
	return err
}

func versionOf(name string) Version {
	for v, known := range versionNames {
		if known == name && known != "" {
			return Version(v)
		}
	}
	return 0
}

// addressOf returns the bytes of an address in its normal form.
func addressOf(normal string) (a common.Address) {
	_, _ = hex.Decode(a[:], []byte(normal[2:])) // the form was checked
	return a
}

// normalize returns an address in its normal form (EIP-55 is checked where letters are mixed).
func normalize(text string) (string, error) { return evmaddr.Normalize(text) }
