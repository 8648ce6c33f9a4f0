package gen

// The words from which policies are made. Requests take theirs from the policy, and some from here too, so that a
// value is sometimes on no list.
var (
	chains = []string{"1", "10", "56", "137", "999", "8453", "42161"}

	fileTools   = []string{"file_write", "file_read"} // which may have several paths
	evmActions  = []string{"wallet.transfer", "contract.call", "token.approve", "erc4337.userop", "Swap", "bridge.out"}
	toolActions = []string{"bash", "file_write", "file_read", "web_fetch", "http", "email.send", "deploy", "Read", "db.query", "git.push", "fs.edit"}

	servers  = []string{"github", "jira", "files", "pg"}
	mcpTools = []string{"read_file", "create_issue", "delete_repo", "search", "list.all", "purge", "list.delete_repo", "a.b.purge"}

	// addresses are contracts in the spelling of EIP-55.
	addresses = []string{
		"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		"0x6B175474E89094C44Da98b954EedeAC495271d0F", "0xdAC17F958D2ee523a2206206994597C13D831ec7",
		"0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0x52908400098527886E0F7030069857D2E4169EE7",
		"0xde709f2102306220921060314715629080e2fb77",
	}

	commands = []string{"rm -rf", "sudo", "curl", "git push --force", "echo 'x'", "dd  if=", "mkfs", "aws s3", "ключ", "| tee", "cd / && mkfs", "ls > /dev/sda"}
	domains  = []string{"evil.example", "*.bad.example", "127.0.0.1", "bücher.example", "169.254.169.254", "::1", "pastebin.com", "a.b.co.uk"}
	hosts    = []string{"api.example.com", "*.example.org", "10.0.0.1", "xn--bcher-kva.example", "docs.example.net"}
	paths    = []string{"/etc", "~/.ssh", ".env", "/var/lib/Data", "C:/Windows", "node_modules/.bin", "/home/alice/x", ".env*", "/srv/k*.pem",
		"~/.s*/id_*", "/", "/tmp/naïve"}
	allowedCommands = []string{"ls", "git status", "git", "echo", "cat", "cast send", "make test", "tee", "go test", "sudo apt-get update", "bash -c ls", "cd",
		"'my tool'", "./run.sh", "xargs -n1 ls", "true", "env -i ls"}
	allowedPaths = []string{"/workspace/repo", ".", "src", "src/*.go", "/home/*/notes", "~/notes", "a/b", "README.md", "/work", "C:/Work", "/tmp/naïve", "/"}
	mailbox      = []string{"ann@example.com", "*@example.com", "*@*.example.com", "ops-*@example.net", "bob@bücher.example", "*@*"}
	methods      = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

	words = []string{"dev", "prod", "Prod", "true", "1", "a, b", "naïve", "日本", "x", "staging-1", "it's"}

	effects = []string{"read", "create", "overwrite", "append", "truncate", "delete", "rename", "copy", "hard_link",
		"symlink", "chmod", "chown", "xattr", "execute", "egress"}
	roots         = []string{".", "/", "/workspace/repo", "/workspace", "/srv/Data"}
	classes       = []string{"secret", "credential", "private_key", "Normal"}
	gitOperations = []string{"status", "diff", "log", "add", "commit", "fetch", "pull_ff_only", "push_fast_forward",
		"create_branch", "create_tag", "reset_hard", "clean", "rewrite_history", "delete_ref", "force_push", "mirror_push",
		"prune_remote", "change_remote", "change_protection", "change_credentials", "delete_repository"}
	providers          = []string{"generic", "github", "gitlab", "bitbucket"}
	refs               = []string{"main", "release/*", "refs/heads/prod", "refs/tags/v*", "refs/*", "refs/heads/r*", "refs/heads/*", "heads/dev", "re*"}
	databaseOperations = []string{"select", "insert", "update", "merge", "delete", "truncate", "create_table", "drop_table",
		"add_column", "drop_column", "alter_column_type", "add_constraint", "drop_constraint", "create_index", "drop_index",
		"create_schema", "drop_schema", "create_database", "alter_database", "drop_database", "create_routine", "replace_routine",
		"execute_routine", "change_trigger", "change_row_security", "grant", "revoke", "create_extension"}
	resources = []string{"app.users", "app.*", "app.*.id", "billing.invoices", "public.orders*"}
	routines  = []string{"app.refresh", "app.report_v2"}
)
