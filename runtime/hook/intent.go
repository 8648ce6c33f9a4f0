package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/jcs"
	"bailiff/vm/slot"
)

// Bounds of what a request says.
const (
	maxPaths     = 256      // intent.paths
	maxPathBytes = 1 << 20  // of all paths that a search makes; the service takes less
	maxContent   = 64 << 10 // metadata.content
	maxIntent    = 100_000  // a whole body, which has little beside the intent
	maxNonce     = 64       // request_nonce
	maxTask      = 128      // intent.task_id
)

// Config is what a request says beside the event.
type Config struct {
	AgentID, Framework string
	TaskID             string // for all events; empty for the one that the event names
	FallbackTaskID     string // for events that name none
	// SendContent sends the contents of files that are written, up to 64 KiB; with more the event is an error.
	SendContent bool
	Usage       *Usage // of the model in the event's task; nil where it is not known
	// Random tells apart calls to which the host gives no id.
	Random string
}

// A Request is the request for a decision about an event.
type Request struct {
	Nonce    string
	TxCommit string
	TaskID   string // empty for none
	// Intent is the member intent, as JSON.
	Intent []byte
	// Body is the whole body.
	Body []byte
}

// Request returns the request for a decision about the event, or what keeps the event from being judged.
func (e *Event) Request(c Config) (*Request, error) {
	b := builder{event: e, content: c.SendContent}
	if err := b.describe(); err != nil {
		return nil, fmt.Errorf("the event cannot be judged: %w", err)
	}
	r := &Request{Nonce: e.nonce(c.Random), TaskID: e.taskID(c)}
	b.intent.add("task_id", r.TaskID)
	b.metadata.add("adapter", e.Host.Name)
	b.metadata.add("tool", e.Tool.Name)
	b.metadata.add("agentType", e.AgentType)
	if c.Usage != nil {
		b.metadata = append(b.metadata, member{"model_usage", c.Usage.json()})
	}
	b.intent = append(b.intent, member{"metadata", b.metadata.json()})
	r.Intent = b.intent.json()
	if len(r.Intent) > maxIntent {
		return nil, fmt.Errorf("the event cannot be judged: what the tool is given makes a request of %d bytes, and the service takes %d; give it less at once", len(r.Intent), maxIntent)
	}
	form := jsontext.Value(slices.Clone(r.Intent))
	if err := form.Canonicalize(); err != nil {
		return nil, fmt.Errorf("the event cannot be judged: %w", malformed(err))
	}
	r.TxCommit = digest(form)
	r.Body = r.body(c)
	return r, nil
}

// body is the body of the request.
func (r *Request) body(c Config) []byte {
	var body object
	body.add("agentId", c.AgentID)
	body.add("framework", c.Framework)
	body.add("txCommit", r.TxCommit)
	body.add("request_nonce", r.Nonce)
	body = append(body, member{"intent", r.Intent})
	return body.json()
}

// nonce is the host's id of the call, or what the caller says where it has none. One that is too long goes as its digest.
func (e *Event) nonce(random string) string {
	switch {
	case e.CallID == "":
		return random
	case len(e.CallID) > maxNonce:
		return digest([]byte(e.CallID))
	}
	return e.CallID
}

// taskID is the task of an event: the configured one, else the session's, else the fallback. A subagent has a task of its
// own, beside the session's. What the service would not take goes as its digest.
func (e *Event) taskID(c Config) string {
	switch {
	case c.TaskID != "":
		return c.TaskID
	case e.Session == "" && e.Agent == "":
		return c.FallbackTaskID
	case e.Agent == "" && IsTaskID(e.Session):
		return e.Session
	case e.Agent == "":
		return "id-" + digest([]byte(e.Session))
	}
	if both := e.Session + "_agent_" + e.Agent; IsTaskID(both) {
		return both
	}
	return "id-" + digest([]byte(e.Session+"\x00"+e.Agent))
}

// IsTaskID reports whether the service takes a text as a task id.
func IsTaskID(text string) bool {
	for i := range len(text) {
		if !isID(text[i]) {
			return false
		}
	}
	return text != "" && len(text) <= maxTask
}

func isID(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// digest is the SHA-256 of a text in lower-case hex.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func appendText(dst []byte, text string) []byte { return jcs.AppendString(dst, text) }

// A builder makes the intent of an event.
type builder struct {
	event            *Event
	content          bool
	intent, metadata object
}

// describe says what the tool does.
func (b *builder) describe() error {
	e := b.event
	switch e.Tool.Kind {
	case KindShell:
		return b.shell()
	case KindPatch:
		return b.patch()
	case KindWrite:
		return b.write()
	case KindRead:
		return b.read()
	case KindSearch:
		return b.search()
	case KindWeb:
		return b.web()
	case KindMCP:
		return b.mcp()
	case KindResource:
		return b.resource()
	case KindOther:
	}
	return b.other()
}

// act sets the action, and the folder that the tool works in.
func (b *builder) act(action string) {
	b.intent.add("action", action)
	b.intent.add("cwd", b.event.Cwd)
}

// arguments adds the arguments of the tool.
func (b *builder) arguments(arguments object) {
	b.intent = append(b.intent, member{"arguments", arguments.json()})
}

// other asks by the tool's own name.
func (b *builder) other() error {
	action, ok := canonicalName(b.event.Tool.Name)
	if !ok {
		return errors.New("the name of the tool is longer than 128 characters, has no letter or digit, or has others than those of ASCII")
	}
	b.act(action)
	b.arguments(b.event.input)
	return nil
}

// patch asks about all paths that a patch names.
func (b *builder) patch() error {
	text, err := b.event.input.text(b.event.Tool.From)
	switch {
	case err != nil:
		return err
	case text == "" && b.event.Tool.Maybe:
		return b.write()
	}
	paths, err := patchPaths(text)
	if err != nil {
		return err
	}
	// A tool with two modes may write another path than the patch's.
	more, err := b.named(b.event.input, pathNames)
	if err != nil {
		return err
	}
	for _, path := range more {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	b.act(slot.WriteAction)
	if err := b.paths(paths); err != nil {
		return err
	}
	beside, err := contentsIn(b.event.input)
	if err != nil {
		return err
	}
	return b.contents(append([]string{text}, beside...))
}

// The members of inputs that name paths, and those with what is written. All that are there count, whichever the tool reads.
var (
	pathNames = []string{
		"file_path", "path", "notebook_path", "filePath", "filepath", "target_file", "target_notebook", "absolute_path", "filename", "file", "paths",
		"file_paths", "files",
	}
	folderNames  = []string{"path", "dir_path", "directory", "target_directory", "folder", "paths", "file_path"}
	patternNames = []string{"glob", "include", "include_pattern", "glob_pattern", "file_glob"}
	contentNames = []string{
		"content", "contents", "file_text", "new_string", "new_str", "new_source", "new_text", "newText", "newString", "insert_text", "code_edit", "text",
	}
	methodNames = []string{"method", "http_method"}
)

// viewer is the tool that writes files and, with the command view, reads them.
const viewer = "str_replace_editor"

// write asks about the files that are written.
func (b *builder) write() error {
	paths, err := b.named(b.event.input, pathNames)
	if err != nil {
		return err
	}
	if mode, ok := textOf(b.event.input.get("command")); ok && mode == "view" && b.event.Tool.Name == viewer {
		b.act(slot.ReadAction)
		return b.paths(paths)
	}
	b.act(slot.WriteAction)
	if err := b.paths(paths); err != nil {
		return err
	}
	texts, err := contentsIn(b.event.input)
	if err != nil {
		return err
	}
	edited, err := b.edits()
	if err != nil {
		return fmt.Errorf("edits: %w", err)
	}
	return b.contents(append(texts, edited...))
}

// edits returns the texts that a list of edits writes. None of them names a path of its own.
func (b *builder) edits() (texts []string, err error) {
	list := b.event.input.get("edits")
	if list == nil {
		return nil, nil
	}
	edits, err := elements(list)
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		members, err := readObject(edit)
		if err != nil {
			return nil, err
		}
		if paths, err := b.named(members, pathNames); err != nil || len(paths) > 0 {
			return nil, errors.New("one of them names a path of its own")
		}
		more, err := contentsIn(members)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	return texts, nil
}

// contentsIn returns the texts among the members of an input that are written. One that is no text is an error, because a rule
// about contents would not see it.
func contentsIn(input object) (texts []string, err error) {
	for _, name := range contentNames {
		if input.get(name) == nil {
			continue
		}
		text, err := input.text(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// read asks about the files that are read.
func (b *builder) read() error {
	paths, err := b.named(b.event.input, pathNames)
	if err != nil {
		return err
	}
	b.act(slot.ReadAction)
	return b.paths(paths)
}

// search asks about the folders that are searched, and what a pattern names in them, with its braces expanded. Without a
// folder it is the one that the tool works in.
func (b *builder) search() error {
	folders, err := b.named(b.event.input, folderNames)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		folders = []string{"."}
		if b.event.Cwd != "" {
			folders[0] = b.event.Cwd
		}
	}
	names := patternNames
	if glob := strings.ToLower(b.event.Tool.Name); glob == "glob" || b.event.Tool.Name == "search_files" {
		names = append(slices.Clone(patternNames), "pattern")
	}
	patterns, err := b.named(b.event.input, names)
	if err != nil {
		return err
	}
	for _, list := range []*[]string{&folders, &patterns} {
		if *list, err = expandAll(*list); err != nil {
			return err
		}
	}
	if most := len(folders) * (1 + len(patterns)); most > maxPaths {
		return tooMany(most)
	}
	paths, size := slices.Clone(folders), 0
	for _, pattern := range patterns {
		for _, folder := range folders {
			path := below(folder, pattern)
			if size += len(path); size > maxPathBytes {
				return tooLong()
			}
			paths = append(paths, path)
		}
	}
	b.act(slot.ReadAction)
	return b.paths(paths)
}

// below is a pattern in a folder.
func below(folder, pattern string) string {
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") || len(pattern) > 1 && pattern[1] == ':' {
		return pattern
	}
	return strings.TrimSuffix(folder, "/") + "/" + pattern
}

// named returns the texts of all members of these names, each once. A member that is neither a text nor a list of texts is
// an error.
func (b *builder) named(input object, names []string) (texts []string, err error) {
	for _, name := range names {
		value := input.get(name)
		if value == nil {
			continue
		}
		parts, err := elements(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, element := range parts {
			text, ok := textOf(element)
			if !ok {
				return nil, fmt.Errorf("%s is neither a path nor a list of paths", name)
			}
			if slices.Contains(texts, text) {
				continue
			}
			if texts = append(texts, text); len(texts) > maxPaths {
				return nil, tooMany(len(texts))
			}
		}
	}
	return texts, nil
}

// tooMany refuses more paths than a request takes.
func tooMany(paths int) error {
	return fmt.Errorf("the tool names %d paths or more, and a request takes %d; make several calls", paths, maxPaths)
}

// tooLong refuses paths that are longer than a request.
func tooLong() error {
	return fmt.Errorf("the tool names paths of more than %d bytes together", maxPathBytes)
}

// paths adds what the tool touches.
func (b *builder) paths(paths []string) error {
	switch {
	case len(paths) == 0:
		return errors.New("the tool names no path")
	case len(paths) == 1:
		b.intent = append(b.intent, member{"path", appendText(nil, paths[0])})
		return nil
	case len(paths) > maxPaths:
		return tooMany(len(paths))
	}
	list := []byte{'['}
	for i, path := range paths {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendText(list, path)
	}
	b.intent = append(b.intent, member{"paths", append(list, ']')})
	return nil
}

// contents says how much is written, and its digest: of several texts, with a line feed between them. The texts are sent only
// where the operator wants that.
func (b *builder) contents(texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	whole := strings.Join(texts, "\n")
	b.metadata = append(b.metadata, member{"contentBytes", strconv.AppendInt(nil, int64(len(whole)), 10)})
	b.metadata.add("contentSha256", digest([]byte(whole)))
	if !b.content {
		return nil
	}
	if len(whole) > maxContent {
		return fmt.Errorf("the tool writes %d bytes, and contents are sent up to %d; write less at once", len(whole), maxContent)
	}
	b.metadata.add("content", whole)
	return nil
}

// web asks about a page: typed where a valid method is named, never otherwise.
func (b *builder) web() error {
	address, err := b.address()
	if err != nil {
		return err
	}
	method, err := b.event.input.first(methodNames...)
	if err != nil {
		return err
	}
	method = strings.ToUpper(method)
	action := slot.WebFetchAction
	if slices.Contains(slot.Methods(), method) {
		action = slot.HTTPAction
	}
	b.act(action)
	b.intent.add("url", address)
	if action == slot.HTTPAction {
		b.intent.add("method", method)
	}
	b.arguments(b.event.input.without("url", "urls"))
	return nil
}

// address returns the one URL of a web tool. Gemini CLI's tool finds it among the words of its prompt, and by its settings
// may do so where the input names one, too: both count.
func (b *builder) address() (string, error) {
	addresses, err := b.named(b.event.input, []string{"url", "urls"})
	if err != nil {
		return "", err
	}
	if b.event.Host.Name == Gemini {
		prompt, err := b.event.input.text("prompt")
		if err != nil {
			return "", err
		}
		for _, word := range strings.FieldsFunc(prompt, separates) {
			if !strings.Contains(word, "://") || slices.Contains(addresses, word) {
				continue
			}
			if addresses = append(addresses, word); len(addresses) > 1 {
				break
			}
		}
	}
	switch {
	case len(addresses) == 0 || addresses[0] == "":
		return "", errors.New("the tool names no URL")
	case len(addresses) > 1:
		return "", errors.New("the tool names more than one URL; make a call for each")
	}
	return addresses[0], nil
}

// separates reports whether JavaScript takes a character for white space.
func separates(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

// mcp asks about a tool of an MCP server.
func (b *builder) mcp() error {
	if strings.EqualFold(b.event.ServerTool, methodRead) {
		return errors.New("the name of the MCP tool is that of a method; rename the tool on the server")
	}
	return b.callServer(b.event.Server, b.event.ServerTool, b.event.input)
}

// methodRead is the method that reads a resource, as actions have it.
const methodRead = "resources.read"

// resource asks about a resource of an MCP server, under the name that the MCP proxy gives to that method.
func (b *builder) resource() error {
	server, err := b.event.input.first("server", "server_name")
	if err != nil {
		return err
	}
	if server == "" {
		return errors.New("server is missing")
	}
	return b.callServer(plainServer(server), methodRead, b.event.input.without("server", "server_name"))
}

func (b *builder) callServer(server, tool string, arguments object) error {
	action := slot.MCPPrefix + strings.ToLower(server) + "." + strings.ToLower(tool)
	if !slot.IsAction(action) {
		return errors.New("the name of the MCP tool is longer than 128 characters, or has others than the visible ones of ASCII")
	}
	b.act(action)
	b.metadata.add(slot.ServerID, strings.ToLower(server))
	b.metadata.add(slot.ToolName, strings.ToLower(tool))
	b.arguments(arguments)
	return nil
}
