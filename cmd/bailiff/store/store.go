package store

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/system"
)

// Commands are the commands of the database. Their doc texts are the help.
type Commands struct {
	Store struct {
		Init   initCommand   `cmd:"" help:"Make the tables that instances need."`
		Status statusCommand `cmd:"" help:"Say which instance decides, and which ones wait."`
		Import importCommand `cmd:"" help:"Copy the record of a data folder into the database."`
		Level  levelCommand  `cmd:"" help:"Say or raise the level of the store, after an update of all instances."`
		Export exportCommand `cmd:"" help:"Copy the record from the database into a data folder."`

		Restored restoredCommand `cmd:"" help:"Take back what may have been used after the state that the database was put back to."`
	} `cmd:"" help:"Prepare and look at the PostgreSQL database that several instances share."`
}

type initCommand struct {
	Role string `help:"Give this role of the database what a service needs, and no more: it adds to the record and can't change it." placeholder:"ROLE"`

	Slots *int `help:"Divide the API keys of a new store into so many slots, up to 1024, so that several instances decide at the same time. 16 are good for eight instances. Another number takes an export and an import." placeholder:"N"`

	Retention *bool `negatable:"" help:"Let the role drop old records, too, as SVC_EVENT_RETENTION does; --no-retention takes that back."`
}

// Help says as whom to run it.
func (c *initCommand) Help() string {
	return `Makes the schema bailiff and its tables in the database of SVC_STORE, for the environment of SVC_ENV. Tables that
are there stay. Run it as a role that may make a schema, and let the services use another one, which --role names (CREATE ROLE makes it).`
}

// Run makes the tables.
func (c *initCommand) Run(std cli.Streams) error {
	if c.Retention != nil && c.Role == "" {
		return cli.Usage("--retention says what --role may do; name the role")
	}
	slots := 0 // as they are; of a new store one
	if c.Slots != nil {
		if slots = *c.Slots; slots < 1 || slots > ledger.MaxSlots {
			return cli.Usage("--slots %d: a store has 1 to %d slots", slots, ledger.MaxSlots)
		}
	}
	return with(func(s *cmdsettings.Settings, store *pgledger.Store) error {
		fresh, err := store.Init(pgledger.Setup{Role: c.Role, Drops: c.Retention, Slots: slots})
		if err != nil {
			return cli.Fail("%v", err)
		}
		done := "the tables are there already"
		if fresh {
			done = "the tables were made"
		}
		if c.Role != "" {
			done += ", and the role " + c.Role + " may use them"
			if c.Retention != nil && *c.Retention {
				done += " and drop old records"
			}
		}
		id, err := store.ID()
		if err != nil {
			return cli.Fail("%v", err)
		}
		_, err = fmt.Fprintf(std.Out, "%s (environment %s, store %s)\n", done, s.Environment, id)
		return err
	})
}

type statusCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help says what the command asks for.
func (c *statusCommand) Help() string {
	return `Asks the database of SVC_STORE which instance decides, which ones wait, how far the record has come, and whether the
database keeps it on a second machine. The exit code is 1 where no instance decides.`
}

// statusView is the status in JSON.
type statusView struct {
	Server      string         `json:"server"`
	ID          string         `json:"id"`
	Environment string         `json:"environment"`
	Level       int            `json:"level"`
	Tables      int            `json:"tables"`
	Owner       string         `json:"owner"`
	Term        int64          `json:"term"`
	HeardMS     int64          `json:"owner_heard_ms"`
	Last        uint64         `json:"records"`
	Bytes       int64          `json:"bytes"`
	Moved       string         `json:"exported_to,omitempty"`
	OffsetMS    int64          `json:"clock_offset_ms"`
	Unsafe      string         `json:"unsafe,omitempty"`
	MayChange   bool           `json:"role_may_change_records"`
	Instances   []instanceView `json:"instances"`
	// Slots are those of a store that has several; the first has the service-wide records.
	Slots []slotView `json:"slots,omitempty"`
}

type slotView struct {
	Slot    int    `json:"slot"`
	Owner   string `json:"owner"`
	Term    int64  `json:"term"`
	HeardMS int64  `json:"owner_heard_ms"`
	Last    uint64 `json:"records"`
}

type instanceView struct {
	Name    string `json:"name"`
	Peer    string `json:"peer,omitempty"`
	Reads   int    `json:"reads"`
	HeardMS int64  `json:"heard_ms"`
}

// Run prints the status.
func (c *statusCommand) Run(std cli.Streams) error {
	return with(func(s *cmdsettings.Settings, store *pgledger.Store) error {
		status, err := store.Status()
		if err != nil {
			return cli.Fail("%v", err)
		}
		if c.JSON {
			err = cli.PrintJSON(std.Out, view(&status))
		} else {
			err = tell(std, &status, time.Duration(s.StoreLease))
		}
		if err == nil && !decides(&status, time.Duration(s.StoreLease)) {
			return cli.ExitWith(cli.ExitFailed)
		}
		return err
	})
}

// decides reports whether an instance owns each slot of the record, and was heard within its lease.
func decides(status *pgledger.Status, lease time.Duration) bool {
	return !slices.ContainsFunc(status.Slots, func(s pgledger.SlotStatus) bool { return s.Owner == "" || s.Heard > lease })
}

func view(status *pgledger.Status) statusView {
	v := statusView{
		Server: status.Server, ID: status.ID, Environment: status.Environment, Level: status.Writes, Tables: status.Level, Owner: status.Owner, Term: status.Term, HeardMS: status.Heard.Milliseconds(),
		Last: status.Records(), Bytes: status.Bytes, Moved: status.Moved, OffsetMS: status.Offset.Milliseconds(), Unsafe: status.Unsafe, MayChange: status.Changes, Instances: []instanceView{},
	}
	for _, one := range status.Instances {
		v.Instances = append(v.Instances, instanceView{one.Name, one.Peer, one.Reads, one.Heard.Milliseconds()})
	}
	if len(status.Slots) > 1 {
		for _, one := range status.Slots {
			v.Slots = append(v.Slots, slotView{one.Slot, one.Owner, one.Term, one.Heard.Milliseconds(), one.Last})
		}
	}
	return v
}

func tell(std cli.Streams, status *pgledger.Status, lease time.Duration) error {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	fmt.Fprintf(std.Out, "PostgreSQL %s, environment %s, store %s, %d records, %d MiB of tables\n", status.Server, status.Environment, status.ID, status.Records(), status.Bytes>>20)
	switch {
	case len(status.Slots) > 1:
		tellSlots(std, status, lease)
	case status.Owner == "" && status.Moved != "":
		fmt.Fprintf(std.Out, "no instance decides: the record was exported to %s\n", status.Moved)
	case status.Owner == "":
		fmt.Fprintln(std.Out, "no instance decides")
	case !decides(status, lease):
		fmt.Fprintf(std.Out, "%s decided, and was not heard for %s: another instance takes over, or none runs\n", status.Owner, round(status.Heard))
	default:
		fmt.Fprintf(std.Out, "%s decides (term %d), heard %s ago\n", status.Owner, status.Term, round(status.Heard))
	}
	for _, one := range status.Instances {
		if len(status.Slots) == 1 && one.Name != status.Owner && one.Heard <= lease {
			fmt.Fprintf(std.Out, "%s waits, heard %s ago%s\n", one.Name, round(one.Heard), passes(one.Peer))
		}
	}
	if status.Unsafe != "" {
		fmt.Fprintf(std.Out, "warning: %s\n", status.Unsafe)
	}
	if status.Waits != "" {
		fmt.Fprintf(std.Out, "warning: too few standbys are connected for synchronous_standby_names = %q: nothing is decided until one is back\n", status.Waits)
	}
	if status.Changes {
		fmt.Fprintln(std.Out, "warning: this role may change the record; let the services use one that bailiff store init --role has prepared")
	}
	_, err := fmt.Fprintf(std.Out, "the database's clock is %s ahead of this machine's\n", round(status.Offset))
	return err
}

// tellSlots says which instance has which slots of several.
func tellSlots(std cli.Streams, status *pgledger.Status, lease time.Duration) {
	fmt.Fprintf(std.Out, "%d slots of keys, and slot 0 with what concerns the whole service\n", status.Keyed())
	of := map[string][]int{}
	for _, slot := range status.Slots {
		owner := slot.Owner
		if slot.Heard > lease {
			owner = ""
		}
		of[owner] = append(of[owner], slot.Slot)
	}
	for _, one := range status.Instances {
		if one.Heard > lease {
			continue
		}
		if has, ok := of[one.Name]; ok {
			fmt.Fprintf(std.Out, "%s has %s, and takes requests of others at %s\n", one.Name, named(has), one.Peer)
			delete(of, one.Name)
		}
	}
	if none := of[""]; none != nil {
		fmt.Fprintf(std.Out, "no instance decides for %s\n", named(none))
	}
	if status.Moved != "" {
		fmt.Fprintf(std.Out, "the record was exported to %s\n", status.Moved)
	}
}

// named names slots in ascending order.
func named(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("the slot %d", numbers[0])
	}
	return "the slots " + ranges(numbers)
}

// ranges writes ascending numbers briefly, such as 0-3, 7.
func ranges(numbers []int) string {
	var text strings.Builder
	for i := 0; i < len(numbers); i++ {
		first := numbers[i]
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if text.Len() > 0 {
			text.WriteString(", ")
		}
		fmt.Fprint(&text, first)
		if numbers[i] > first {
			fmt.Fprintf(&text, "-%d", numbers[i])
		}
	}
	return text.String()
}

// passes says where an instance takes requests from others.
func passes(peer string) string {
	if peer == "" {
		return ", and passes nothing on"
	}
	return ", and takes requests of others at " + peer
}

// settings returns the settings, of which SVC_STORE is one.
func settings() (*cmdsettings.Settings, error) {
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		return nil, cli.Usage("%v", err)
	}
	if s.Store == "" {
		return nil, cli.Usage("SVC_STORE is not set; it names the database, such as postgres://bailiff@db-a,db-b/bailiff?sslmode=verify-full")
	}
	return s, nil
}

// with calls use with the database of SVC_STORE.
func with(use func(*cmdsettings.Settings, *pgledger.Store) error) error {
	s, err := settings()
	if err != nil {
		return err
	}
	options, err := s.StoreOptions(system.Real(clock.System()))
	if err != nil {
		return cli.Usage("%v", err)
	}
	options.Patience = client.StorePatience
	store, err := pgledger.NewStore(options)
	if err != nil {
		return cli.Usage("%v", err)
	}
	defer store.Close()
	return use(s, store)
}

// alone calls use with the store for a command that no instance may work beside. busy says of an error whether one does.
func alone(use func(s *cmdsettings.Settings, store *pgledger.Store, busy func(err error, instead string) error) error) error {
	s, err := settings()
	if err != nil {
		return err
	}
	store, busy, err := client.CommandStore(s, system.Real(clock.System()))
	if err != nil {
		return cli.Usage("%v", err)
	}
	defer store.Close()
	return use(s, store, busy)
}
