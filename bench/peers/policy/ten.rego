package ten

default allow := false

allow if count(deny) == 0

deny contains "text" if contains(input.text, "BEGIN PRIVATE KEY")

deny contains "note" if contains(input.note, "internal")

deny contains "command" if {
	some blocked in ["rm -rf", "mkfs", "curl"]
	contains(input.command, blocked)
}

deny contains "domain" if input.host in {"evil.example", "pastebin.com", "169.254.169.254"}

deny contains "domain" if endswith(input.host, ".evil.example")

deny contains "domain" if endswith(input.host, ".pastebin.com")

deny contains "chain" if not input.chain in {1, 10, 8453}

deny contains "action" if not input.action in {"wallet.transfer", "contract.call"}

deny contains "native" if not input.native <= 5

deny contains "address" if input.token != "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

deny contains "token" if not input.amount <= 1000000000

deny contains "recipients" if {
	some to in input.to
	not endswith(to, "@example.com")
	not endswith(to, "@example.org")
}

deny contains "environment" if not input.env in {"staging", "production"}
