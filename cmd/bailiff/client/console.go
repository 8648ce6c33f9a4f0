package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/term"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	"bailiff/httpd"
	"bailiff/httpd/console"
)

type consoleCommand struct {
	SignOut bool `help:"End all sessions of the operator's console instead." xor:"what"`
	NoOpen  bool `help:"Print the address and the code without opening a browser."`
	JSON    bool `name:"json" help:"Print JSON, and open no browser."`
}

// Help says what the command needs.
func (c *consoleCommand) Help() string {
	return `Needs a service that runs on SVC_DATA_DIR with SVC_CONSOLE_LISTEN. Prints the address of its console and a code for one sign-in, which
is good for a minute, and opens the address in a browser where there is a desktop. Type the code into the page. The code is in no
address, so that neither a log nor a browser's history has it.

From another machine forward the port under the same number: ssh -L PORT:127.0.0.1:PORT HOST.`
}

// Run prints how to sign in, and opens a browser.
func (c *consoleCommand) Run(std cli.Streams) error {
	s, err := settings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	service := DialAdmin(s.AdminSocket())
	if service == nil {
		return cli.Fail("no service that this user may administer runs on %s; start one with SVC_CONSOLE_LISTEN=127.0.0.1:8789, or set SVC_DATA_DIR", s.DataDir)
	}
	ctx := context.Background()
	if c.SignOut {
		ended, err := service.EndConsole(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, ended, err)
		}
		return printLine(std.Out, fmt.Sprintf("sessions ended: %d", ended.Sessions))
	}
	signIn, err := service.ConsoleCode(ctx)
	if err != nil || c.JSON {
		return cli.OrPrint(std.Out, signIn, err)
	}
	if _, err := fmt.Fprintf(std.Out, "open %s\ncode %s\nThe code is for one sign-in, within %d seconds.\n", signIn.URL, signIn.Code, console.CodeLife/time.Second); err != nil {
		return err
	}
	if file, ok := std.Out.(*os.File); ok && !c.NoOpen && term.IsTerminal(int(file.Fd())) {
		openBrowser(signIn.URL)
	}
	return nil
}

// ConsoleCode asks the service for a code of its operator's console.
func (r *remoteAdmin) ConsoleCode(ctx context.Context) (signIn httpd.OperatorSignIn, err error) {
	err = r.call(ctx, "POST", "/console/code", nil, &signIn)
	return signIn, err
}

// EndConsole ends the sessions of the operator's console.
func (r *remoteAdmin) EndConsole(ctx context.Context) (ended httpd.OperatorSignOut, err error) {
	err = r.call(ctx, "POST", "/console/sign-out", nil, &ended)
	return ended, err
}

// openBrowser opens an address where there is a desktop. What fails is left to the person, who has the address.
func openBrowser(url string) {
	opener := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		opener = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	command := exec.Command(opener, url)
	command.Stdout, command.Stderr = io.Discard, io.Discard
	if command.Start() == nil {
		go func() { _ = command.Wait() }()
	}
}
