package policy

// Commands are the commands for authors of policies. Their doc texts are the help.
type Commands struct {
	Init    initCommand        `cmd:"" help:"Write a policy to start from, with its tests."`
	Keygen  keygenCommand      `cmd:"" help:"Make an operator key pair."`
	Sign    signCommand        `cmd:"" help:"Sign a policy with the operator's key."`
	Verify  verifyCommand      `cmd:"" help:"Verify a policy's signature."`
	Check   checkCommand       `cmd:"" help:"Report everything that is wrong with policies, and mend it."`
	Fmt     fmtCommand         `cmd:"" help:"Lay policies out in the one canonical way."`
	Explain explainCodeCommand `cmd:"" name:"explain-code" help:"Explain the code of a finding or of an answer, and what to do about it."`
	Compile compileCommand     `cmd:"" help:"Compile a policy to a program."`
	Disasm  disasmCommand      `cmd:"" help:"List the program of a policy, or of a compiled program."`
	Eval    evalCommand        `cmd:"" help:"Decide an intent without a service."`
	Test    testCommand        `cmd:"" help:"Run the tests beside policies."`
}
