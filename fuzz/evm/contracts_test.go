package evm

import (
	"embed"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/contracts.json from contracts.sol")

//go:embed testdata/package.json testdata/package-lock.json testdata/compile.mjs
var compilerFiles embed.FS

const compiled = "testdata/contracts.json"

// TestContracts: the contracts' codes are what the Solidity compiler makes of their source.
func TestContracts(t *testing.T) {
	files, err := fs.Sub(compilerFiles, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("testdata", "contracts.sol"))
	if err != nil {
		t.Fatal(err)
	}
	output, err := npm.Run(t, 2*time.Minute, npm.Install(t, "solc", files), source, "node", "compile.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(compiled, output, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(compiled)
	if err != nil || string(kept) != string(output) {
		t.Errorf("%s is not what the compiler makes of contracts.sol (%v); go test ./fuzz/evm -run TestContracts -rewrite", compiled, err)
	}
}

// TestMethods: the methods that moves call are methods of the contracts, and all of them are called.
func TestMethods(t *testing.T) {
	var contracts map[string]struct{ Methods map[string]string }
	if err := json.Unmarshal(contractsJSON, &contracts); err != nil {
		t.Fatal(err)
	}
	everyday := map[string]bool{
		"transfer(address,uint256)": true, "transferFrom(address,address,uint256)": true, "approve(address,uint256)": true,
		"increaseAllowance(address,uint256)": true, "multicall(bytes[])": true, "multicall(uint256,bytes[])": true,
		"balanceOf(address)": true, "allowance(address,address)": true,
	}
	methods := contracts["Token"].Methods
	for _, m := range tokenMethods {
		if methods[m.signature] != hex.EncodeToString(Encode(m.signature)) {
			t.Errorf("Token has no %s", m.signature)
		}
		delete(methods, m.signature)
	}
	for signature := range methods {
		if !everyday[signature] {
			t.Errorf("no move calls %s", signature)
		}
	}
}
