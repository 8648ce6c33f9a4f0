package gateway

import (
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"bailiff/fuzz/kit/vectors"
)

// The forks by which the vectors judge, the newest first.
var forks = []string{"Prague", "Cancun", "Shanghai", "Paris", "London"}

// Ethereum's own vectors: what the newest fork calls valid is decoded to the same sender, what it calls invalid refused.
func TestEthereumVectors(t *testing.T) {
	root := vectors.Path(t, "ethereum/TransactionTests")
	valid, invalid := 0, 0
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file map[string]struct {
			Result  map[string]struct{ Exception, Sender string }
			TxBytes string
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return err
		}
		for name, c := range file {
			want, fork := c.Result[forks[0]], 0
			for ; want.Exception == "" && want.Sender == ""; want = c.Result[forks[fork]] {
				if fork++; fork == len(forks) {
					t.Fatalf("%s: judged by no fork that is known here", path)
				}
			}
			tx, err := DecodeTransaction(common.FromHex(c.TxBytes))
			if err == nil && tx.ChainID > 1 { // the vectors are for chain 1, as their gateway would be
				err = errors.New("it is for another chain")
			}
			switch {
			case want.Exception != "":
				invalid++
				if err == nil {
					t.Errorf("%s in %s was decoded; it should be refused with %s", name, filepath.Base(path), want.Exception)
				}
			case err != nil:
				t.Errorf("%s in %s was refused: %v", name, filepath.Base(path), err)
				valid++
			case !strings.EqualFold(spell(tx.Sender), want.Sender):
				t.Errorf("%s: sender %s, want %s", name, spell(tx.Sender), want.Sender)
			default:
				valid++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if valid < 50 || invalid < 100 {
		t.Errorf("%d valid and %d invalid vectors: the folder is not what it was", valid, invalid)
	}
	t.Logf("%d valid, %d invalid", valid, invalid)
}

// A signature has two forms; the one with the high s is refused (EIP-2).
func TestHighSIsRefused(t *testing.T) {
	raw := sign(t, dynamic(payee, 5, nil), chain)
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	v, r, s := tx.RawSignatureValues()
	twin := dynamic(payee, 5, nil)
	twin.R, twin.S, twin.V = r, new(big.Int).Sub(crypto.S256().Params().N, s), new(big.Int).Xor(v, big.NewInt(1))
	high, err := types.NewTx(twin).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeTransaction(high); err == nil {
		t.Error("a high s was accepted")
	}
	if _, err := DecodeTransaction(raw); err != nil {
		t.Error(err)
	}
}

// What decodes is exactly what was given, and never a type that is not submitted.
func FuzzTransaction(f *testing.F) {
	to := common.HexToAddress(payee)
	f.Add(sign(f, dynamic(payee, 5, []byte{1, 2}), chain))
	f.Add(sign(f, &types.LegacyTx{GasPrice: big.NewInt(1), Gas: 21_000, To: &to, Value: big.NewInt(5)}, chain))
	f.Add(sign(f, &types.AccessListTx{ChainID: big.NewInt(chain), GasPrice: big.NewInt(1), Gas: 60_000, To: &to, AccessList: types.AccessList{{Address: to, StorageKeys: []common.Hash{{1}}}}}, chain))
	f.Add([]byte{3, 0xc0})
	f.Add([]byte{0xc0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		decoded, err := DecodeTransaction(raw)
		if err != nil {
			return
		}
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(raw); err != nil || tx.Type() > types.DynamicFeeTxType {
			t.Fatalf("type %d, %v", tx.Type(), err)
		}
		if again, _ := tx.MarshalBinary(); string(again) != string(raw) {
			t.Fatal("two spellings of one transaction")
		}
		if (decoded.Sender == common.Address{}) || decoded.Creation != (tx.To() == nil) {
			t.Fatalf("%+v", decoded)
		}
	})
}
