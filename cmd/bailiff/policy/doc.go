// Package policy has the commands for authors of policies, such as check, fmt, sign, eval and test. They need no service.
package policy
