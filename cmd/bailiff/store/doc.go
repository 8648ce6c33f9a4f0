// Package store has the commands that prepare and look at the database of SVC_STORE.
package store
