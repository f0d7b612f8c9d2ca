package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fileArchive keeps files in memory; fails and cuts are how many of the next responses fail, or end early.
type fileArchive struct {
	mutex       sync.Mutex
	bodies      map[string][]byte
	kinds       map[string]string
	fails, cuts int
}

func (a *fileArchive) serve(to http.ResponseWriter, request *http.Request) {
	parts := strings.Split(request.URL.Path, "/")
	content, _ := io.ReadAll(request.Body)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.fails > 0 {
		a.fails--
		to.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if request.Method == http.MethodPut {
		digest := digestOf(content)
		a.bodies[digest], a.kinds[digest] = content, request.Header.Get("Torpor-Type")
		to.WriteHeader(http.StatusCreated)
		json.NewEncoder(to).Encode(map[string]any{"size": len(content), "digest": digest})
		return
	}
	body, known := a.bodies[parts[len(parts)-1]]
	if !known {
		to.WriteHeader(http.StatusNotFound)
		return
	}
	offset, _ := strconv.Atoi(request.URL.Query().Get("offset"))
	body = body[offset:]
	to.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if a.cuts > 0 {
		a.cuts--
		body = body[:len(body)/2]
	}
	to.Write(body)
}

func digestOf(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

func filesPod(t *testing.T) (*pod, *fileArchive) {
	t.Helper()
	kept := &fileArchive{bodies: map[string][]byte{}, kinds: map[string]string{}}
	return newPod(t, kept.serve), kept
}

func setFiles(t *testing.T, spec any) {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(filesVariable, string(text))
}

// roundTrip stores a path as an output, and fetches it to another one.
func roundTrip(t *testing.T, at *pod, path, compress string) (string, storedFile) {
	t.Helper()
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path, Compress: compress}}})
	write(t, at.outcome, "", 0o666)
	got := at.supervised(t, "--", "true")
	var document struct {
		Nonce, Message string
		Files          []storedFile
	}
	if err := json.Unmarshal([]byte(got.outcome), &document); err != nil || got.code != 0 || len(document.Files) != 1 {
		t.Fatalf("%v %+v", err, got)
	}
	target := filepath.Join(t.TempDir(), "in", "x")
	if code, said := at.fetch(t, target, document.Files[0]); code != 0 {
		t.Fatal(said)
	}
	return target, document.Files[0]
}

func (p *pod) fetch(t *testing.T, target string, file storedFile) (int, string) {
	t.Helper()
	origin := originSpec{TaskRun: "uid", Name: "x", Digest: file.Digest, Size: file.Size, Kind: file.Kind}
	setFiles(t, filesSpec{In: []inputSpec{{Name: "x", Target: target, Origins: []originSpec{origin}}}})
	return p.run([]string{"fetch", "--credentials", p.folder}, "")
}

func TestAFileIsFetchedAsItWasStored(t *testing.T) {
	at, kept := filesPod(t)
	for _, compress := range []string{"", "none", "gzip"} {
		for _, text := range []string{"", "x", strings.Repeat("many bytes ", 1<<17)} {
			path := filepath.Join(at.folder, "a name with spaces ä")
			write(t, path, text, 0o600)
			target, file := roundTrip(t, at, path, compress)
			if got, _ := os.ReadFile(target); string(got) != text {
				t.Errorf("%s: %d bytes instead of %d", compress, len(got), len(text))
			}
			if kept.kinds[file.Digest] != file.Kind || (compress == "gzip") != strings.HasSuffix(file.Kind, gzipped) {
				t.Errorf("%s: %+v", compress, file)
			}
		}
	}
}

func TestAFolderIsFetchedAsItWasStored(t *testing.T) {
	at, _ := filesPod(t)
	folder := filepath.Join(at.folder, "out")
	for name, text := range map[string]string{"a b": "1", "ü/x": "2", "ü/y/z": strings.Repeat("3", 100_000)} {
		os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755)
		write(t, filepath.Join(folder, name), text, 0o644)
	}
	os.Mkdir(filepath.Join(folder, "empty"), 0o700)
	os.Chmod(filepath.Join(folder, "a b"), 0o755)
	os.Symlink("../a b", filepath.Join(folder, "ü/link"))
	target, _ := roundTrip(t, at, folder, "gzip")
	if got, err := os.ReadFile(filepath.Join(target, "ü/link")); string(got) != "1" {
		t.Error(err)
	}
	if got, _ := os.ReadFile(filepath.Join(target, "ü/y/z")); len(got) != 100_000 {
		t.Error(len(got))
	}
	if about, err := os.Stat(filepath.Join(target, "empty")); err != nil || !about.IsDir() {
		t.Error(err)
	}
	if about, _ := os.Stat(filepath.Join(target, "a b")); about.Mode()&0o111 == 0 {
		t.Error(about.Mode())
	}
}

func TestASparseFileStaysSparse(t *testing.T) {
	at, _ := filesPod(t)
	path := filepath.Join(at.folder, "sparse")
	write(t, path, "begin", 0o644)
	os.Truncate(path, 64<<20)
	target, file := roundTrip(t, at, path, "gzip")
	if about, _ := os.Stat(target); about.Size() != 64<<20 || blocksOf(about) > 1024 || file.Size > 1<<20 {
		t.Errorf("%d bytes in %d blocks, %d stored", about.Size(), blocksOf(about), file.Size)
	}
}

func TestABrokenTransferIsResumed(t *testing.T) {
	at, kept := filesPod(t)
	firstPause = 1e6
	path, text := filepath.Join(at.folder, "file"), strings.Repeat("0123456789", 50_000)
	write(t, path, text, 0o644)
	_, file := roundTrip(t, at, path, "")
	kept.fails, kept.cuts = 2, 5
	target := filepath.Join(t.TempDir(), "x")
	if code, said := at.fetch(t, target, file); code != 0 {
		t.Fatal(said)
	}
	if got, _ := os.ReadFile(target); string(got) != text {
		t.Errorf("%d bytes", len(got))
	}
}

func TestAnotherContentThanTheDigestSaysIsRefused(t *testing.T) {
	at, kept := filesPod(t)
	path := filepath.Join(at.folder, "file")
	write(t, path, "the content", 0o644)
	_, file := roundTrip(t, at, path, "")
	kept.bodies[file.Digest] = []byte("another one")
	if code, said := at.fetch(t, filepath.Join(t.TempDir(), "x"), file); code != exitContent || !strings.Contains(said, "digest") {
		t.Error(code, said)
	}
}

func TestAMissingOutputFailsUnlessItIsOptional(t *testing.T) {
	at, _ := filesPod(t)
	missing := filepath.Join(at.folder, "missing")
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: missing}}})
	if got := at.supervised(t, "--", "true"); got.code != exitNoInput || !strings.Contains(got.stderr, "did not write the output x") {
		t.Errorf("%+v", got)
	}
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: missing, Optional: true}}})
	if got := at.supervised(t, "--", "true"); got.code != 0 || !strings.Contains(got.outcome, `"files":[]`) {
		t.Errorf("%+v", got)
	}
}

func TestAProgramThatDefersHasNoOutputs(t *testing.T) {
	at, kept := filesPod(t)
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: filepath.Join(at.folder, "missing")}}, Outcome: true})
	document := `{"torpor":1,"nonce":"n","defer":{}}`
	got := at.supervised(t, "--", "sh", "-c", "printf '"+document+"' > $TORPOR_OUTCOME")
	if got.code != 0 || got.outcome != document || len(kept.bodies) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAResultOfStandardOutputHasTheOutputsBesideIt(t *testing.T) {
	at, _ := filesPod(t)
	path := filepath.Join(at.folder, "file")
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path}}})
	got := at.supervised(t, "--stdout", "--", "sh", "-c", "printf y > "+path+"; echo 42")
	if !strings.Contains(got.outcome, `"files":[{"name":"x","size":1,`) || !strings.HasSuffix(got.outcome, `"result":42}`) {
		t.Errorf("%+v", got)
	}
}

func TestWhatTheProgramWroteIsTheMessageBesideTheOutputs(t *testing.T) {
	at, _ := filesPod(t)
	path := filepath.Join(at.folder, "file")
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path}}})
	got := at.supervised(t, "--", "sh", "-c", `printf y > `+path+`; printf '{"a": "b"}' > `+at.outcome)
	if got.code != 0 || !strings.HasSuffix(got.outcome, `"message":"{\"a\": \"b\"}"}`) {
		t.Errorf("%+v", got)
	}
	got = at.supervised(t, "--", "sh", "-c", `printf y > `+path+`; head -c 4000 /dev/zero | tr '\0' x > `+at.outcome)
	if got.code != exitContent || !strings.Contains(got.stderr, "write a shorter result") {
		t.Errorf("%+v", got)
	}
}

func blocksOf(about os.FileInfo) int64 { return about.Sys().(*syscall.Stat_t).Blocks }
