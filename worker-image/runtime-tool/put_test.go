package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var large = "[" + strings.Repeat(`"xxxxxxxxx", `, 999) + `"end"]`

// pod is the environment of a container, with an archive that handles uploads.
type pod struct {
	folder, outcome string
	requests        atomic.Int64
}

func newPod(t *testing.T, handle http.HandlerFunc) *pod {
	t.Helper()
	at := &pod{folder: t.TempDir()}
	at.outcome = filepath.Join(at.folder, "outcome")
	write(t, at.outcome, "an older and longer outcome of the same container", 0o666)
	write(t, filepath.Join(at.folder, archiveToken), "the-token\n", 0o600)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		at.requests.Add(1)
		handle(to, request)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, value := range map[string]string{
		"TORPOR_ARCHIVE_URL": server.URL, "TORPOR_ARCHIVE_CA": string(certificate), "TORPOR_NAMESPACE": "team",
		"TORPOR_TASKRUN": "run-load-0", "TORPOR_OUTCOME": at.outcome, "TORPOR_OUTCOME_NONCE": "n",
	} {
		t.Setenv(name, value)
	}
	return at
}

// put runs the verb over a file with this text, and returns the exit code and stderr.
func (p *pod) put(t *testing.T, text string, options ...string) (int, string) {
	t.Helper()
	file := filepath.Join(p.folder, "file")
	write(t, file, text, 0o644)
	return p.run(append([]string{"put", "--credentials", p.folder}, append(options, file)...), "")
}

func (p *pod) run(args []string, stdin string) (int, string) {
	var said bytes.Buffer
	code := run(args, strings.NewReader(stdin), io.Discard, &said)
	return code, said.String()
}

// stores is an archive that accepts bodies and describes them.
func stores(to http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	digest := sha256.Sum256(body)
	to.WriteHeader(http.StatusCreated)
	json.NewEncoder(to).Encode(map[string]any{
		"size": len(body), "digest": hex.EncodeToString(digest[:]), "type": request.Header.Get("Torpor-Type"),
		"length": bytes.Count(body, []byte("\n")), "keys": nil, "name": nil,
	})
}

func rejects(status int, message string) http.HandlerFunc {
	return func(to http.ResponseWriter, _ *http.Request) {
		to.WriteHeader(status)
		fmt.Fprintf(to, `{"reason":"R","message":%q}`, message)
	}
}

func TestASmallResultIsWrittenWithoutTheArchive(t *testing.T) {
	at := newPod(t, stores)
	if code, said := at.put(t, ` {"a": "<1>"} `); code != exitDone || said != "" {
		t.Fatal(code, said)
	}
	if found := read(t, at.outcome); found != `{"torpor":1,"nonce":"n","result":{"a":"<1>"}}` || at.requests.Load() != 0 {
		t.Error(found)
	}
}

func TestAResultThatFillsTheTerminationMessageIsInlineAndALongerOneIsNot(t *testing.T) {
	at := newPod(t, stores)
	at.put(t, `"`+strings.Repeat("x", outcomeMax-len(`{"torpor":1,"nonce":"n","result":""}`))+`"`)
	if found := read(t, at.outcome); len(found) != outcomeMax || at.requests.Load() != 0 {
		t.Error(len(found))
	}
	at.put(t, `"`+strings.Repeat("x", outcomeMax+1-len(`{"torpor":1,"nonce":"n","result":""}`))+`"`)
	if found := read(t, at.outcome); !strings.Contains(found, `"archived":{`) || at.requests.Load() != 1 {
		t.Error(found)
	}
}

func TestTheResultOfAStepIsStoredUnderItsName(t *testing.T) {
	var path string
	at := newPod(t, func(to http.ResponseWriter, received *http.Request) {
		path = received.URL.String()
		stores(to, received)
	})
	t.Setenv("TORPOR_STEP", "build")
	if code, said := at.put(t, large); code != exitDone || path != "/v1/namespaces/team/taskruns/run-load-0/result?step=build" {
		t.Error(code, said, path)
	}
}

func TestAShareOfThePodLimitsTheOutcome(t *testing.T) {
	at := newPod(t, stores)
	frame := len(`{"torpor":1,"nonce":"n","result":""}`)
	for share, most := range map[string]int{"700": 700, "9000": outcomeMax, "": outcomeMax, "many": outcomeMax, "-1": outcomeMax} {
		t.Setenv("TORPOR_OUTCOME_MAX", share)
		at.put(t, `"`+strings.Repeat("x", most-frame)+`"`)
		if found := read(t, at.outcome); len(found) != most {
			t.Error(share, len(found))
		}
		at.put(t, `"`+strings.Repeat("x", most+1-frame)+`"`)
		if found := read(t, at.outcome); !strings.Contains(found, `"archived":{`) || len(found) > most {
			t.Error(share, found)
		}
	}
}

func TestALongFailureIsShortenedToTheShare(t *testing.T) {
	at := newPod(t, stores)
	t.Setenv("TORPOR_OUTCOME_MAX", "300")
	if err := writeFailure(os.Getenv, strings.Repeat("\u00e9", 1000)); err != nil {
		t.Fatal(err)
	}
	if found := read(t, at.outcome); len(found) > 300 || !strings.Contains(found, "\u00e9\u00e9") {
		t.Error(len(found), found)
	}
}

func TestALargeResultIsUploadedAndItsDescriptionIsTheOutcome(t *testing.T) {
	var request *http.Request
	at := newPod(t, func(to http.ResponseWriter, received *http.Request) {
		request = received
		stores(to, received)
	})
	if code, said := at.put(t, large); code != exitDone || said != "" {
		t.Fatal(code, said)
	}
	body := strings.Repeat("\"xxxxxxxxx\"\n", 999) + "\"end\"\n"
	digest := sha256.Sum256([]byte(body))
	expected := fmt.Sprintf(`{"torpor":1,"nonce":"n","archived":{"digest":"%x","length":1000,"size":%d,"type":"list"}}`, digest, len(body))
	if found := read(t, at.outcome); found != expected {
		t.Error(found)
	}
	if request.URL.Path != "/v1/namespaces/team/taskruns/run-load-0/result" || request.Header.Get("Authorization") != "Bearer the-token" ||
		request.Header.Get("Content-Type") != "application/x-ndjson" || request.Header.Get("Torpor-Type") != "list" {
		t.Error(request.URL, request.Header)
	}
}

func TestStandardInputIsUploadedToo(t *testing.T) {
	at := newPod(t, stores)
	text := strings.Repeat("zeile\n", 1000)
	code, said := at.run([]string{"put", "--text", "--credentials", at.folder, "-"}, text)
	if code != exitDone || !strings.Contains(read(t, at.outcome), `"type":"string"`) {
		t.Error(code, said)
	}
}

func TestAnUploadIsRepeatedUntilTheArchiveStoresIt(t *testing.T) {
	answers := []http.HandlerFunc{
		rejects(503, "no database"), rejects(401, "not yet"), rejects(403, "x cannot get resource y"), rejects(408, "slow"), rejects(429, ""),
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(to http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(to, `{"size": 3, "digest": "of another body"}`)
		},
		func(to http.ResponseWriter, _ *http.Request) { fmt.Fprint(to, `<html>`) },
		stores,
	}
	defer func(first, longest time.Duration) { firstPause, longestPause = first, longest }(firstPause, longestPause)
	firstPause, longestPause = 2, 2
	var count int
	at := newPod(t, func(to http.ResponseWriter, request *http.Request) {
		count++
		answers[min(count, len(answers))-1](to, request)
	})
	code, said := at.put(t, large)
	if code != exitDone || count != len(answers) || strings.Count(said, "\n") != 1 || !strings.Contains(said, "retrying for 5m0s: HTTP 503: no database") {
		t.Error(code, count, said)
	}
}

func TestWhatARetryCannotChangeEndsAtOnceWithItsExitCode(t *testing.T) {
	for _, each := range []struct {
		status, code int
		message      string
	}{
		{400, exitContent, "key 'a' is duplicate"},
		{413, exitContent, "more than the limit"},
		{403, exitNoPermission, "pod x has not claimed TaskRun y"},
		{507, exitUnavailable, "the namespace has used its quota"},
		{404, exitUnavailable, "no such page"},
	} {
		at := newPod(t, rejects(each.status, each.message))
		before := read(t, at.outcome)
		code, said := at.put(t, large)
		if code != each.code || at.requests.Load() != 1 || !strings.Contains(said, fmt.Sprintf("HTTP %d: %s", each.status, each.message)) {
			t.Error(each, code, said)
		}
		if read(t, at.outcome) != before {
			t.Error("a failed upload wrote an outcome")
		}
	}
}

func TestTheResponseToARejectedBodyIsReadBeforeItsEnd(t *testing.T) {
	at := newPod(t, func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Connection", "close")
		rejects(413, "the body has more than the limit")(to, nil)
	})
	code, said := at.put(t, "["+strings.Repeat("1,", 2_000_000)+"1]", "--timeout", "0s")
	if code != exitContent && !strings.Contains(said, "connection") { // a reset may overtake the response
		t.Error(code, said)
	}
}

func TestAnUnavailableArchiveEndsTheRetries(t *testing.T) {
	at := newPod(t, stores)
	t.Setenv("TORPOR_ARCHIVE_URL", "https://127.0.0.1:1")
	code, said := at.put(t, large, "--timeout", "1ms")
	if code != exitUnavailable || !strings.Contains(said, "not in the archive after 1ms of retries") {
		t.Error(code, said)
	}
}

func TestAnErrorInTheMiddleOfALargeFileIsNotRetried(t *testing.T) {
	at := newPod(t, stores)
	code, said := at.put(t, strings.TrimSuffix(large, "]")+", oops]")
	if code != exitContent || at.requests.Load() > 1 || !strings.Contains(said, "is not JSON") {
		t.Error(code, said)
	}
}

func TestACertificateOfAnotherAuthorityIsNotTrusted(t *testing.T) {
	at := newPod(t, stores)
	t.Setenv("TORPOR_ARCHIVE_CA", otherAuthority)
	code, said := at.put(t, large, "--timeout", "1ms")
	if code != exitUnavailable || at.requests.Load() != 0 || !strings.Contains(said, "certificate") {
		t.Error(code, said)
	}
}

func TestAPodWithoutAnArchiveSaysWhatToDo(t *testing.T) {
	for name, message := range map[string]string{
		"TORPOR_ARCHIVE_URL": "install the archive",
		"TORPOR_ARCHIVE_CA":  "no certificate",
		"TORPOR_NAMESPACE":   "pods that Torpor creates",
		"TORPOR_TASKRUN":     "pods that Torpor creates",
	} {
		at := newPod(t, stores)
		t.Setenv(name, "")
		if code, said := at.put(t, large); code != exitConfiguration || !strings.Contains(said, message) {
			t.Error(name, code, said)
		}
	}
	at := newPod(t, stores)
	t.Setenv("TORPOR_ARCHIVE_URL", "http://archive")
	if code, said := at.put(t, large); code != exitConfiguration || !strings.Contains(said, "not https") {
		t.Error(code, said)
	}
	file := filepath.Join(at.folder, "file")
	code, said := at.run([]string{"put", "--credentials", "/nonexistent", file}, "")
	if code != exitConfiguration {
		t.Error(code, said)
	}
}

func TestKeysThatDoNotFitIntoTheOutcomeAreLeftOut(t *testing.T) {
	outcome := filepath.Join(t.TempDir(), "outcome")
	environment := func(name string) string {
		return map[string]string{"TORPOR_OUTCOME": outcome, "TORPOR_OUTCOME_NONCE": "n"}[name]
	}
	for size, kept := range map[int]bool{4000: true, 4095: false} {
		stored := map[string]any{"type": "object", "keys": strings.Repeat("k", size)}
		if err := writeArchived(environment, stored); err != nil {
			t.Fatal(err)
		}
		if found := read(t, outcome); len(found) > outcomeMax || strings.Contains(found, `"keys"`) != kept {
			t.Error(size, len(found))
		}
	}
}

func TestUsageErrorsAreOneLineWithTheirExitCode(t *testing.T) {
	at := newPod(t, stores)
	for _, args := range [][]string{{"put"}, {"put", "a", "b"}, {"put", "--unknown", "a"}, {"copy"}, {"copy", "a", "b"}, {"copy", "--x"}, {"move"}} {
		if code, said := at.run(args, ""); code != exitUsage || strings.Count(said, "\n") != 1 {
			t.Error(args, code, said)
		}
	}
	if code, said := at.run(nil, ""); code != exitUsage || !strings.HasPrefix(said, "usage:") {
		t.Error(code, said)
	}
	for _, args := range [][]string{{"--help"}, {"put", "--help"}} {
		if code, said := at.run(args, ""); code != exitDone || !strings.HasPrefix(said, "usage:") {
			t.Error(args, code, said)
		}
	}
	if code, said := at.run([]string{"put", "/nonexistent"}, ""); code != exitNoInput {
		t.Error(code, said)
	}
}

func TestAnOutcomeThatCannotBeWrittenHasItsExitCode(t *testing.T) {
	at := newPod(t, stores)
	t.Setenv("TORPOR_OUTCOME", filepath.Join(at.folder, "no", "folder"))
	if code, said := at.put(t, "1"); code != exitCannotCreate {
		t.Error(code, said)
	}
}
