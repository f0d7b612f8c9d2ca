package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a repository on this machine, which Git's own server offers over HTTP.
type repository struct {
	t      *testing.T
	folder string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	made := &repository{t, filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(made.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	made.git("init", "-q", "-b", "main")
	return made
}

func (r *repository) git(args ...string) string { return r.gitWith("", args...) }

func (r *repository) gitWith(stdin string, args ...string) string {
	r.t.Helper()
	command := exec.Command("git", args...)
	command.Dir, command.Stdin = r.folder, strings.NewReader(stdin)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	said, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %s: %s", args, err, said)
	}
	return strings.TrimSpace(string(said))
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	target := filepath.Join(r.folder, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) commit() string {
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

// serve offers the repository at /repo, with a password if there is one.
func (r *repository) serve(password string) *httptest.Server {
	r.t.Helper()
	programs, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.folder), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		InheritEnv: []string{"PATH"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		if _, given, _ := request.BasicAuth(); given != password {
			to.WriteHeader(http.StatusUnauthorized)
			return
		}
		request.Header.Set("Git-Protocol", request.Header.Get("Git-Protocol"))
		backend.ServeHTTP(to, request)
	}))
	r.t.Cleanup(server.Close)
	return server
}

// fetchOf runs the tool for one source, and returns its exit code, what it said, and the target.
func fetchOf(t *testing.T, input inputSpec) (int, string, string) {
	t.Helper()
	firstPause = 1e6
	at, _ := filesPod(t)
	input.Name, input.Target = "x", filepath.Join(t.TempDir(), "x")
	setFiles(t, filesSpec{In: []inputSpec{input}})
	code, said := at.run([]string{"fetch"}, "")
	return code, said, input.Target
}

func fetchRepository(t *testing.T, server *httptest.Server, source gitSpec) (int, string, string) {
	t.Helper()
	t.Setenv(allowedVariable, "127.0.0.1")
	if source.URL == "" {
		source.URL = server.URL + "/repo"
	}
	return fetchOf(t, inputSpec{Git: &source})
}

func textAt(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestARepositoryIsASource(t *testing.T) {
	made := newRepository(t)
	made.write("README", "one")
	first := made.commit()
	made.git("tag", "-a", "v1", "-m", "v1")
	made.write("README", "two")
	made.write("src/a b/ü", "deep")
	made.write("src/empty", "")
	for number := range 20 { // similar files, of which Git makes deltas
		made.write(fmt.Sprintf("data/%02d", number), strings.Repeat(fmt.Sprintf("line of a table with %d\n", 7), 400)+fmt.Sprint(number))
	}
	if err := os.Symlink("../README", filepath.Join(made.folder, "src/link")); err != nil {
		t.Fatal(err)
	}
	made.git("update-index", "--add", "--cacheinfo", "160000,"+first+",module")
	made.git("add", "README", "src", "data")
	made.git("update-index", "--chmod=+x", "README")
	made.git("commit", "-q", "-m", "x")
	made.git("branch", "topic/x")
	made.git("gc", "-q")
	server := made.serve("")
	second := made.git("rev-parse", "HEAD")
	for ref, commit := range map[string]string{"": second, "main": second, "topic/x": second, "v1": first, "refs/tags/v1": first, first: first} {
		code, said, target := fetchRepository(t, server, gitSpec{Ref: ref})
		if code != 0 || !strings.Contains(said, "is the commit "+commit) {
			t.Fatal(ref, code, said)
		}
		if text := textAt(t, filepath.Join(target, "README")); (text == "one") != (commit == first) {
			t.Error(ref, text)
		}
	}
	_, _, target := fetchRepository(t, server, gitSpec{})
	if text := textAt(t, filepath.Join(target, "data/13")); !strings.HasSuffix(text, "13") || len(text) != 400*23+2 {
		t.Error(len(text))
	}
	if about, err := os.Stat(filepath.Join(target, "README")); err != nil || about.Mode()&0o111 == 0 {
		t.Error(about, err)
	}
	if text := textAt(t, filepath.Join(target, "src/link")); text != "two" {
		t.Error(text)
	}
	if entries, err := os.ReadDir(filepath.Join(target, "module")); err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(target)); err != nil || len(entries) != 1 {
		t.Error("a scratch file is left", entries, err)
	}
}

func TestAFolderOrAFileOfARepositoryIsASource(t *testing.T) {
	made := newRepository(t)
	made.write("a/b/c", "deep")
	made.commit()
	server := made.serve("")
	if _, said, target := fetchRepository(t, server, gitSpec{Path: "a/b"}); textAt(t, filepath.Join(target, "c")) != "deep" {
		t.Error(said)
	}
	if _, said, target := fetchRepository(t, server, gitSpec{Path: "/a/b/c"}); textAt(t, target) != "deep" {
		t.Error(said)
	}
	for _, path := range []string{"a/x", "a/b/c/d", "../a", ".git"} {
		if code, said, _ := fetchRepository(t, server, gitSpec{Path: path}); code != exitContent || !strings.Contains(said, "has no "+path) {
			t.Error(code, said)
		}
	}
}

func TestATokenIsForTheServerOfTheAuthor(t *testing.T) {
	made := newRepository(t)
	made.write("x", "private")
	made.commit()
	server := made.serve("hush")
	t.Setenv("TORPOR_SECRET_0", "hush\n")
	if code, said, _ := fetchRepository(t, server, gitSpec{}); code != exitContent || !strings.Contains(said, "token for a private repository") {
		t.Error(code, said)
	}
	if code, said, _ := fetchRepository(t, server, gitSpec{Token: "TORPOR_SECRET_0"}); code != 0 {
		t.Error(said)
	}
	seen := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		seen <- request.Header.Get("Authorization")
		to.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	away := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		http.Redirect(to, request, other.URL+request.URL.RequestURI(), http.StatusFound)
	}))
	defer away.Close()
	code, said, _ := fetchRepository(t, away, gitSpec{Token: "TORPOR_SECRET_0"})
	if code != exitContent || <-seen != "" || strings.Contains(said, "hush") {
		t.Error(code, said)
	}
}

func TestARedirectOfARepositoryIsFollowed(t *testing.T) {
	made := newRepository(t)
	made.write("x", "moved")
	made.commit()
	server := made.serve("")
	away := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet {
			t.Error("the old address is asked again")
		}
		http.Redirect(to, request, server.URL+request.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	defer away.Close()
	if code, said, target := fetchRepository(t, away, gitSpec{}); code != 0 || textAt(t, filepath.Join(target, "x")) != "moved" {
		t.Error(code, said)
	}
}

func TestARepositoryIsNotAtAForbiddenAddress(t *testing.T) {
	server := newRepository(t).serve("")
	code, said, _ := fetchOf(t, inputSpec{Git: &gitSpec{URL: server.URL + "/repo"}})
	if code != exitContent || !strings.Contains(said, "loopback") {
		t.Error(code, said)
	}
	for _, address := range []string{"ssh://git@host/x", "file:///etc", "/etc", "https://user:hush@host/x", "https://"} {
		code, said, _ := fetchOf(t, inputSpec{Git: &gitSpec{URL: address}})
		if code != exitContent || strings.Contains(said, "hush") {
			t.Error(address, code, said)
		}
	}
}

func TestWhatARepositoryDoesNotHaveFails(t *testing.T) {
	made := newRepository(t)
	made.write("x", "x")
	made.commit()
	server := made.serve("")
	for source, expected := range map[gitSpec]string{
		{Ref: "none"}:                          "has no branch or tag none",
		{Ref: "a b"}:                           "not the name of a ref",
		{Ref: strings.Repeat("0", 40)}:         "the server says",
		{URL: server.URL + "/none"}:            "responded with 404",
		{Ref: made.git("rev-parse", "HEAD:x")}: "is not a commit",
	} {
		if code, said, _ := fetchRepository(t, server, source); code != exitContent || !strings.Contains(said, expected) {
			t.Errorf("%v: %d %s", source, code, said)
		}
	}
}

// hostile makes a commit of a tree that Git itself would not write.
func (r *repository) hostile(entries string) {
	r.t.Helper()
	tree := r.gitWith(entries, "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	r.git("update-ref", "refs/heads/main", r.git("commit-tree", "-m", "x", tree))
}

func TestARepositoryWritesNothingOutsideOfItsFolder(t *testing.T) {
	made := newRepository(t)
	blob := made.gitWith("../../../escape", "hash-object", "-w", "--stdin")
	raw := func(id string) string { found, _ := parseID(id); return string(found[:]) }
	file := func(mode, name string) string { return mode + " " + name + "\x00" + raw(blob) }
	inner := made.gitWith(file("100644", "passwd"), "hash-object", "-t", "tree", "-w", "--stdin")
	server := made.serve("")
	for name, tree := range map[string]string{
		"the parent":              file("100644", ".."),
		"a path":                  file("100644", "../x"),
		"a git folder":            file("100644", ".GIT"),
		"no name":                 file("100644", ""),
		"a link away":             file("120000", "link"),
		"a link, then through it": file("120000", "a") + "40000 a\x00" + raw(inner),
		"a name twice":            file("100644", "a") + file("100644", "a"),
		"a tree as file":          "100644 a\x00" + raw(inner),
	} {
		made.hostile(tree)
		code, said, target := fetchRepository(t, server, gitSpec{})
		if code != exitContent {
			t.Error(name, code, said)
		}
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(target), "*")); len(found) > 1 {
			t.Error(name, found)
		}
	}
}

func TestARepositoryThatUnfoldsEndlesslyIsRefused(t *testing.T) {
	made := newRepository(t)
	id := made.gitWith("x", "hash-object", "-w", "--stdin")
	mode := "100644"
	for range 8 { // 10^8 files
		var tree strings.Builder
		found, _ := parseID(id)
		for name := range 10 {
			fmt.Fprintf(&tree, "%s %d\x00%s", mode, name, found[:])
		}
		id, mode = made.gitWith(tree.String(), "hash-object", "-t", "tree", "-w", "--stdin"), "40000"
	}
	made.git("update-ref", "refs/heads/main", made.git("commit-tree", "-m", "x", id))
	server := made.serve("")
	source := gitSpec{URL: server.URL + "/repo"}
	t.Setenv(allowedVariable, "127.0.0.1")
	client, _ := sourceClient()
	remote := &gitRemote{client: client, context: t.Context(), spec: source, base: source.URL}
	_, err := remote.fetch(filepath.Join(t.TempDir(), "x"), &budget{bytes: 1 << 20, entries: 2000})
	if err == nil || !strings.Contains(err.Error(), "entries") {
		t.Error(err)
	}
}

func scratchOf(t *testing.T) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// packOf makes a pack with this count and these objects, each with its own header.
func packOf(count uint32, objects ...[]byte) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	pack = append(pack, bytes.Join(objects, nil)...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

func deflated(content string) []byte {
	var packed bytes.Buffer
	to := zlib.NewWriter(&packed)
	io.WriteString(to, content)
	to.Close()
	return packed.Bytes()
}

func header(kind byte, size int) []byte {
	one := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		one[len(one)-1] |= 0x80
		one = append(one, byte(size&0x7f))
	}
	return one
}

func TestAPackThatLiesIsRefused(t *testing.T) {
	blob := append(header(blobObject, 5), deflated("hello")...)
	delta := func(text string) []byte {
		at := append(header(offsetDelta, len(text)), byte(len(blob)))
		return append(at, deflated(text)...)
	}
	for name, each := range map[string]struct {
		pack []byte
		said string
	}{
		"too many objects":       {packOf(1 << 31), "the limit is"},
		"an unknown type":        {packOf(1, append(header(5, 0), deflated("")...)), "unknown type"},
		"a longer object":        {packOf(1, append(header(blobObject, 2), deflated("hello")...)), "longer than it says"},
		"a huge size":            {packOf(1, append(header(blobObject, 1<<40), deflated("hello")...)), "limit of a repository"},
		"a base before the pack": {packOf(1, append(append(header(offsetDelta, 2), 0x7f), deflated("xx")...)), "does not have"},
		"a base of itself":       {packOf(1, append(append(header(offsetDelta, 2), 0), deflated("xx")...)), "does not have"},
		"an unknown base":        {packOf(1, append(append(header(refDelta, 2), make([]byte, 20)...), deflated("xx")...)), "does not have"},
		"another base":           {packOf(2, blob, delta("\x04\x05\x05hello")), "delta of the pack"},
		"a copy beyond the base": {packOf(2, blob, delta("\x05\x05\x91\x01\x05")), "delta of the pack"},
		"more than the result":   {packOf(2, blob, delta("\x05\x05\x90\x06")), "delta of the pack"},
		"a delta of terabytes":   {packOf(2, blob, delta("\x05\xff\xff\xff\xff\xff\x1f\x90\x05")), "limit of a repository"},
		"the instruction 0":      {packOf(2, blob, delta("\x05\x05\x00")), "delta of the pack"},
		"a changed byte":         {append(packOf(1, blob)[:30], make([]byte, 40)...), ""},
	} {
		_, err := readPack(bytes.NewReader(each.pack), scratchOf(t))
		if err == nil || !strings.Contains(err.Error(), each.said) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := packOf(2, blob, delta("\x05\x08\x90\x05\x03 it"))
	pack, err := readPack(bytes.NewReader(good), scratchOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := pack.read(pack.objects[1], 100); string(text) != "hello it" {
		t.Error(string(text))
	}
	for at := range good { // a damaged pack never makes the tool panic, and is never taken for a whole one
		damaged := bytes.Clone(good)
		damaged[at] ^= 0x55
		if _, err := readPack(bytes.NewReader(damaged), scratchOf(t)); err == nil {
			t.Error(at)
		}
		if _, err := readPack(bytes.NewReader(good[:at]), scratchOf(t)); err == nil {
			t.Error(at)
		}
	}
}
