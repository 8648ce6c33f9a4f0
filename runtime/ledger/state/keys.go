package state

import (
	"fmt"
	"strings"

	"bailiff/runtime/ledger"
)

// CreateKey fills in the record that creates a key, or returns why there is none.
func (s *State) CreateKey(key *ledger.Key, r *Record) error {
	r.reset()
	if err := key.Validate(); err != nil {
		return err
	}
	if s.keys[key.ID] != nil {
		return fmt.Errorf("%w: id %s", ledger.ErrKeyExists, key.ID)
	}
	if _, taken := s.byHash[key.Hash]; taken {
		return fmt.Errorf("%w: hash %x", ledger.ErrKeyExists, key.Hash)
	}
	r.Kind, r.Key, r.Now, r.Created = ledger.KeyCreated, key.ID, key.Created, *key
	r.Created.Epoch = 1
	return nil
}

// RevokeKey fills in the record that revokes a key, or returns why there is none.
func (s *State) RevokeKey(id ledger.ID, at int64, r *Record) error {
	r.reset()
	k := s.keys[id]
	switch {
	case at < 0 || at > ledger.MaxTime:
		return fmt.Errorf("%w: revocation of the time %d: use Unix nanoseconds", ledger.ErrInvalid, at)
	case k == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, id)
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, id)
	}
	r.Kind, r.Key, r.Epoch = ledger.KeyWasRevoked, id, k.key.Epoch+1
	r.Now = max(k.now, at, 1) // a Revoked of 0 would say that the key is good
	return nil
}

// ChangeKey fills in the record of a key's new tier and scopes, or returns why there is none.
func (s *State) ChangeKey(change *ledger.KeyChange, r *Record) error {
	r.reset()
	if err := change.Validate(); err != nil {
		return err
	}
	k := s.keys[change.ID]
	switch {
	case k == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, change.ID)
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, change.ID)
	}
	r.Kind, r.Key, r.Now = ledger.KeyChanged, change.ID, max(k.now, change.At)
	r.Created.Tier, r.Created.Scopes = change.Tier, change.Scopes
	return nil
}

func (s *State) applyKeyCreated(_ *keyState, lsn uint64, r *Record) error {
	if s.keys[r.Key] != nil {
		return fmt.Errorf("the key exists already")
	}
	if _, taken := s.byHash[r.Created.Hash]; taken {
		return fmt.Errorf("another key has the hash %x", r.Created.Hash)
	}
	key := detached(r.Created)
	s.keys[key.ID] = &keyState{key: key, now: r.Now, lsn: lsn, created: lsn}
	s.byHash[key.Hash] = key.ID
	return nil
}

// detached returns a key whose texts are its own: those of a record share its memory.
func detached(key ledger.Key) ledger.Key {
	key.Organization = strings.Clone(key.Organization)
	key.Email, key.Environment, key.Tier = strings.Clone(key.Email), strings.Clone(key.Environment), strings.Clone(key.Tier)
	return key
}

func (s *State) applyRevoked(k *keyState, _ uint64, r *Record) error {
	if r.Epoch != k.key.Epoch+1 {
		return fmt.Errorf("epoch %d cannot follow epoch %d", r.Epoch, k.key.Epoch)
	}
	k.key.Revoked, k.key.Epoch = r.Now, r.Epoch
	return nil
}

func (s *State) applyChanged(k *keyState, _ uint64, r *Record) error {
	k.key.Tier, k.key.Scopes = strings.Clone(r.Created.Tier), r.Created.Scopes
	return nil
}
