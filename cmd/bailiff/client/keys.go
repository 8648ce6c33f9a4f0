package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/accounts"
)

type keysCommand struct {
	Create  keysCreateCommand      `cmd:"" help:"Create an API key; it is shown once."`
	List    keysListCommand        `cmd:"" help:"List the API keys."`
	Suspend keysSuspendCommand     `cmd:"" help:"Stop an API key, until it is resumed."`
	Resume  keysResumeCommand      `cmd:"" help:"Let a suspended API key go on, with the operator's signature."`
	Revoke  keysRevokeCommand      `cmd:"" help:"Revoke an API key."`
	SetPlan keysSetPlanCommand     `cmd:"" help:"Set the plan that an API key's account pays for."`
	Scopes  keysScopesCommand      `cmd:"" help:"Give an API key scopes, or take some away."`
	Log     keysDeploymentsCommand `cmd:"" name:"deployments" help:"List the policies that were deployed on an API key."`
}

// Help says which keys the subcommands work on.
func (c *keysCommand) Help() string {
	return "Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. New keys belong to the environment SVC_ENV."
}

type keysCreateCommand struct {
	Email string   `required:"" help:"The account that the key belongs to." placeholder:"ADDRESS"`
	Scope []string `help:"A scope: authorize (the default), warranty:deploy, webhooks:write. Can be given more than once." placeholder:"SCOPE" xor:"scopes"`
	Full  bool     `name:"full-grant" help:"All scopes, as keys have that are older than scopes." xor:"scopes"`
	Plan  string   `help:"The plan: developer (the default where the service is hosted), growth (or pro), enterprise (the default elsewhere). Naming one of the latter confers webhooks:write." placeholder:"PLAN"`
	Org   string   `name:"organization" help:"The account's organization." placeholder:"NAME"`
	Shim  bool     `help:"The key belongs to a trusted shim: its metadata counts as attested."`
	Test  bool     `name:"legacy-test" help:"A key of the old form sk_svc_test_…; in the environment test only."`
	JSON  bool     `name:"json" help:"Print JSON, with the key as api_key."`
}

// Run makes a key and prints it, the only time.
func (c *keysCreateCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MayCreate, func(ctx context.Context, a Admin) error {
		key, err := a.CreateKey(ctx, accounts.NewKey{
			Email: c.Email, Organization: c.Org, Scopes: c.Scope, FullGrant: c.Full, Plan: c.Plan, Shim: c.Shim, Legacy: c.Test,
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(std.Out, key)
		}
		fmt.Fprintln(std.Out, key.APIKey)
		fmt.Fprintf(std.Err, "key %s of %s with scopes %s; it is not shown again\n", key.ID, key.Email, strings.Join(key.Scopes, ", "))
		return nil
	})
}

type keysListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the keys, without their secrets.
func (c *keysListCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		keys, err := a.Keys(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, keys, err)
		}
		return cli.PrintTable(std.Out, "ID\tEMAIL\tSCOPES\tPLAN\tENVIRONMENT\tPROVENANCE\tCREATED\tREVOKED\tSUSPENDED", keys, func(k accounts.KeyView) string {
			revoked := "-"
			if !k.RevokedAt.IsZero() {
				revoked = k.RevokedAt.Format(time.RFC3339)
			}
			suspended := "-"
			if !k.SuspendedAt.IsZero() {
				suspended = k.SuspendedAt.Format(time.RFC3339)
			}
			return strings.Join([]string{k.ID, k.Email, strings.Join(k.Scopes, ","), k.Plan, k.Environment, k.Provenance, k.CreatedAt.Format(time.RFC3339), revoked, suspended}, "\t")
		})
	})
}

type keysRevokeCommand struct {
	ID string `arg:"" help:"The key's id, as keys list shows it."`
}

// Run revokes the key: from now on it answers 401, and decisions under way under it come to nothing.
func (c *keysRevokeCommand) Run(std cli.Streams) error {
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		key, err := a.RevokeKey(ctx, c.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "revoked %s of %s\n", key.ID, key.Email)
		return nil
	})
}

type keysSetPlanCommand struct {
	ID   string `arg:"" help:"The key's id, as keys list shows it."`
	Plan string `arg:"" help:"developer, growth (or pro), enterprise."`
}

// Run sets the plan, which confers or takes the scope webhooks:write.
func (c *keysSetPlanCommand) Run(std cli.Streams) error {
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		key, err := a.SetPlan(ctx, c.ID, c.Plan)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "%s of %s has the plan %s, with scopes %s\n", key.ID, key.Email, key.Plan, strings.Join(key.Scopes, ", "))
		return nil
	})
}

type keysScopesCommand struct {
	ID     string   `arg:"" help:"The key's id, as keys list shows it."`
	Add    []string `help:"A scope to give: authorize, warranty:deploy, webhooks:write. Can be given more than once." placeholder:"SCOPE"`
	Remove []string `help:"A scope to take away. Can be given more than once." placeholder:"SCOPE"`
}

// Run changes the key's scopes, and prints those that it has then.
func (c *keysScopesCommand) Run(std cli.Streams) error {
	if len(c.Add)+len(c.Remove) == 0 {
		return cli.Usage("name a scope to --add or to --remove: authorize, warranty:deploy, webhooks:write")
	}
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		key, err := a.ChangeScopes(ctx, c.ID, accounts.ScopeChange{Add: c.Add, Remove: c.Remove})
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "%s of %s has the scopes %s\n", key.ID, key.Email, strings.Join(key.Scopes, ", "))
		return nil
	})
}

type keysDeploymentsCommand struct {
	ID   string `arg:"" help:"The key's id, as keys list shows it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run lists the key's deployments, oldest first.
func (c *keysDeploymentsCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		deployments, err := a.Deployments(ctx, c.ID)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, deployments, err)
		}
		return cli.PrintTable(std.Out, "POLICY HASH\tDEPLOYED\tRECORD\tROLLBACK", deployments, func(d accounts.DeploymentView) string {
			return fmt.Sprintf("%s\t%s\t%d\t%t", d.PolicyHash, d.DeployedAt.Format(time.RFC3339), d.LSN, d.Rollback)
		})
	})
}
