package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const asTool = "TORPOR_TEST_AS_TOOL"

// TestMain makes the test binary the tool itself: it reaps all of its children, so it needs a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
	}
	os.Exit(m.Run())
}

type toolRun struct {
	code           int
	stdout, stderr string
	outcome        string
}

func (p *pod) tool(args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), asTool+"=1")
	return command
}

// supervised runs `torpor-tool run` with these arguments in a process.
func (p *pod) supervised(t *testing.T, args ...string) toolRun {
	t.Helper()
	command := p.tool(append([]string{"run", "--credentials", p.folder}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run()
	outcome, err := os.ReadFile(p.outcome)
	if err != nil {
		t.Fatal(err)
	}
	return toolRun{command.ProcessState.ExitCode(), stdout.String(), stderr.String(), string(outcome)}
}

func noArchive(t *testing.T) *pod {
	at := newPod(t, rejects(http.StatusInternalServerError, "not used"))
	t.Setenv("TORPOR_ARCHIVE_URL", "")
	return at
}

func shell(script string) []string { return []string{"--", "sh", "-c", script} }

func TestTheExitCodeOfTheProgramIsThatOfTheWrapper(t *testing.T) {
	at := noArchive(t)
	for script, code := range map[string]int{
		"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -TERM $$": 143, "kill -KILL $$": 137, "kill -SEGV $$": 139,
	} {
		if got := at.supervised(t, shell(script)...); got.code != code {
			t.Errorf("%s: exit code %d, not %d: %s", script, got.code, code, got.stderr)
		}
	}
}

func TestAProgramThatCannotStartHasTheCodeOfAShell(t *testing.T) {
	at := noArchive(t)
	file := filepath.Join(at.folder, "text")
	write(t, file, "no program", 0o644)
	for program, code := range map[string]int{"no-such-program": 127, "/no/such/file": 127, file: 126, at.folder: 126} {
		got := at.supervised(t, "--", program)
		if got.code != code || !strings.Contains(got.stderr, "cannot start "+program) {
			t.Errorf("%s: %+v", program, got)
		}
	}
}

func TestWithoutACommandTheWrapperSaysThatItNeedsOne(t *testing.T) {
	at := noArchive(t)
	for _, args := range [][]string{{}, {"--stdout"}, {"--stdout", "--file", "/x", "--", "true"}, {"--nonsense"}} {
		if got := at.supervised(t, args...); got.code != exitUsage || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestStandardOutputIsTheResultAndStaysInTheLog(t *testing.T) {
	at := noArchive(t)
	for text, result := range map[string]string{
		"hello":          `"hello"`,
		`two\nlines\n\n`: `"two\nlines"`,
		`{"rows": 3}`:    `{"rows":3}`,
		`[1, 2]\n`:       `[1,2]`,
		"42":             `42`,
		"007":            `"007"`,
		"[INFO] done":    `"[INFO] done"`,
		"{broken":        `"{broken"`,
		"1 2":            `"1 2"`,
		"":               `null`,
		`\n\n`:           `null`,
		"a <b> & c":      `"a <b> & c"`,
	} {
		got := at.supervised(t, "--stdout", "--", "printf", text)
		want := `{"torpor":1,"nonce":"n","result":` + result + `}`
		if got.code != 0 || got.outcome != want || got.stdout != strings.ReplaceAll(text, `\n`, "\n") {
			t.Errorf("%q: %+v, not %s", text, got, want)
		}
	}
}

func TestOutputThatIsADocumentIsAResultAndNoOutcome(t *testing.T) {
	at := noArchive(t)
	text := `{"torpor":1,"nonce":"n","skip":{}}`
	got := at.supervised(t, "--stdout", "--", "printf", "%s", text)
	if got.outcome != `{"torpor":1,"nonce":"n","result":`+text+`}` {
		t.Errorf("%+v", got)
	}
}

func TestAFailedProgramStoresNoResult(t *testing.T) {
	at := noArchive(t)
	before, _ := os.ReadFile(at.outcome)
	if got := at.supervised(t, "--stdout", "--", "sh", "-c", "echo 1; exit 4"); got.code != 4 || got.outcome != string(before) {
		t.Errorf("%+v", got)
	}
}

func TestTheProgramDoesNotSeeTheNonce(t *testing.T) {
	at := noArchive(t)
	for _, script := range []string{"env", "cat /proc/$PPID/environ || true", "tr '\\0' '\\n' < /proc/$PPID/environ || true"} {
		got := at.supervised(t, "--stdout", "--", "sh", "-c", script)
		if os.Getuid() == 0 && script != "env" {
			continue // root reads every process
		}
		if got.code != 0 || strings.Contains(got.stdout, "TORPOR_OUTCOME") || strings.Contains(got.stdout, "TORPOR_ARCHIVE") {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

func TestAFileIsTheResult(t *testing.T) {
	at := noArchive(t)
	file := filepath.Join(at.folder, "result")
	for script, result := range map[string]string{
		"echo '{\"a\": 1}' >":   `{"a":1}`,
		"echo plain text >":     `"plain text"`,
		"printf '' >":           `null`,
		"printf '1.50\\n\\n' >": `1.50`,
	} {
		got := at.supervised(t, "--file", file, "--", "sh", "-c", script+" "+file)
		if got.code != 0 || got.outcome != `{"torpor":1,"nonce":"n","result":`+result+`}` {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

func TestAResultThatCannotBeStoredFailsTheTaskWithoutARetry(t *testing.T) {
	at := noArchive(t)
	missing, binary := filepath.Join(at.folder, "missing"), filepath.Join(at.folder, "binary")
	write(t, binary, "\xff\xfe", 0o644)
	for file, message := range map[string]string{missing: "the program wrote no result", at.folder: "regular file", binary: "not UTF-8"} {
		got := at.supervised(t, "--file", file, "--", "true")
		var document struct {
			Nonce string
			Fail  struct {
				Message   string
				Retryable bool
			}
		}
		if err := json.Unmarshal([]byte(got.outcome), &document); err != nil || got.code != 0 {
			t.Fatalf("%s: %s: %+v", file, err, got)
		}
		if document.Nonce != "n" || document.Fail.Retryable || !strings.Contains(document.Fail.Message, message) {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

func TestOutputAboveTheLimitFailsAndNamesTheFile(t *testing.T) {
	at := noArchive(t)
	got := at.supervised(t, "--stdout", "--", "sh", "-c", "head -c 1048577 /dev/zero | tr '\\0' x")
	if got.code != 0 || len(got.stdout) != 1048577 || !strings.Contains(got.outcome, "result.path") {
		t.Errorf("exit code %d, %d bytes of output, outcome %s", got.code, len(got.stdout), got.outcome)
	}
}

func TestAResultAboveTheTerminationMessageGoesToTheArchive(t *testing.T) {
	var body []byte
	at := newPod(t, func(to http.ResponseWriter, request *http.Request) {
		body, _ = io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		stores(to, request)
	})
	got := at.supervised(t, "--stdout", "--", "sh", "-c", "head -c 9000 /dev/zero | tr '\\0' x; echo")
	if got.code != 0 || !strings.Contains(got.outcome, `"archived":`) || string(body) != `"`+strings.Repeat("x", 9000)+`"` {
		t.Errorf("%+v, %d bytes", got, len(body))
	}
}

func TestALargeResultWithoutAnArchiveSaysWhatToDo(t *testing.T) {
	at := noArchive(t)
	got := at.supervised(t, "--stdout", "--", "sh", "-c", "head -c 9000 /dev/zero | tr '\\0' x")
	if got.code != exitConfiguration || !strings.Contains(got.stderr, "there is no archive") {
		t.Errorf("%d %s", got.code, got.stderr)
	}
}

// started waits for the first line of a program.
func (p *pod) started(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	command := p.tool(append([]string{"run"}, args...)...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	return command, lines
}

func TestSignalsArePassedOnToTheProgramAlone(t *testing.T) {
	at := noArchive(t)
	for _, number := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGQUIT} {
		script := `trap 'echo got; exit 7' TERM INT HUP USR1 QUIT; echo ready; while :; do sleep 0.01; done`
		command, lines := at.started(t, shell(script)...)
		if err := command.Process.Signal(number); err != nil {
			t.Fatal(err)
		}
		if line, _ := lines.ReadString('\n'); line != "got\n" {
			t.Errorf("%s: %q", number, line)
		}
		_ = command.Wait()
		if code := command.ProcessState.ExitCode(); code != 7 {
			t.Errorf("%s: exit code %d", number, code)
		}
	}
}

func TestAProgramThatIgnoresSIGTERMGoesOn(t *testing.T) {
	at := noArchive(t)
	command, lines := at.started(t, shell(`trap '' TERM; echo ready; sleep 0.3; echo still here; exit 5`)...)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_ = command.Wait()
	if string(rest) != "still here\n" || command.ProcessState.ExitCode() != 5 {
		t.Errorf("%q, exit code %d", rest, command.ProcessState.ExitCode())
	}
}

func TestOrphansAreReapedWhileTheProgramRuns(t *testing.T) {
	at := noArchive(t)
	// The orphan ends while the program runs; its parent is then the wrapper.
	script := `sh -c 'sh -c "sleep 0.1" & echo $!' > ` + at.folder + `/pid; sleep 0.6; test ! -e /proc/$(cat ` + at.folder + `/pid)`
	if got := at.supervised(t, shell(script)...); got.code != 0 {
		t.Errorf("the orphan is a zombie: %+v", got)
	}
}

func TestWhatOutlivesTheProgramDoesNotHoldTheTask(t *testing.T) {
	at := noArchive(t)
	for name, script := range map[string]string{
		"in the group":  "sleep 600 & echo 1",
		"outside of it": "setsid sleep 30 2>/dev/null & sleep 0.2; echo 1",
	} {
		began := make(chan toolRun, 1)
		go func() { began <- at.supervised(t, "--stdout", "--", "sh", "-c", script) }()
		select {
		case got := <-began:
			if got.outcome != `{"torpor":1,"nonce":"n","result":1}` {
				t.Errorf("%s: %+v", name, got)
			}
		case <-time.After(25 * time.Second):
			t.Fatalf("%s: the wrapper still waits", name)
		}
	}
}

func TestScriptsAreWrittenAsFilesThatCanBeExecuted(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "scripts")
	text := "#!/bin/sh\necho \"it's $1\"\n"
	err := writeScripts([]string{"PATH=/bin", "TORPOR_SCRIPT_main=" + text, "TORPOR_SCRIPT_step-2=x=y"}, folder)
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(filepath.Join(folder, "main"), "here").Output()
	if err != nil || string(output) != "it's here\n" {
		t.Errorf("%q %v", output, err)
	}
	if second, _ := os.ReadFile(filepath.Join(folder, "step-2")); string(second) != "x=y" {
		t.Errorf("%q", second)
	}
}

func TestAScriptNeverLeavesItsFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "scripts")
	for _, name := range []string{"", "..", "../x", "a/b", ".hidden"} {
		if err := writeScripts([]string{"TORPOR_SCRIPT_" + name + "=x"}, folder); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}
