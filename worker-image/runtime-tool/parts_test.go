package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const testPart = directMax // the least part

// objectArchive is an archive with an object store, whose URLs are valid for two parts. refuses are URLs that fail.
type objectArchive struct {
	fileArchive
	store   *httptest.Server
	objects map[string][]byte
	signs   int
	expires bool
}

func objectPod(t *testing.T) (*pod, *objectArchive) {
	t.Helper()
	kept := &objectArchive{objects: map[string][]byte{}}
	kept.bodies, kept.kinds = map[string][]byte{}, map[string]string{}
	kept.store = httptest.NewServer(http.HandlerFunc(kept.serveObject))
	t.Cleanup(kept.store.Close)
	return newPod(t, kept.serve), kept
}

func (a *objectArchive) serveObject(to http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.expires && request.URL.Query().Get("sign") == "1" {
		to.WriteHeader(http.StatusForbidden)
		return
	}
	if request.Method == http.MethodPut {
		if request.Header.Get("Content-MD5") == "" || request.ContentLength != int64(len(body)) {
			to.WriteHeader(http.StatusBadRequest)
			return
		}
		a.objects[request.URL.Path] = body
		return
	}
	body = a.objects[request.URL.Path]
	if from, ok := strings.CutPrefix(request.Header.Get("Range"), "bytes="); ok {
		offset, _ := strconv.Atoi(strings.TrimSuffix(from, "-"))
		to.WriteHeader(http.StatusPartialContent)
		body = body[offset:]
	}
	if a.cuts > 0 {
		a.cuts--
		to.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	}
	to.Write(body)
}

func (a *objectArchive) serve(to http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch {
	case strings.HasSuffix(request.URL.Path, "/parts"):
		first, _ := strconv.Atoi(query.Get("first"))
		a.signs++
		json.NewEncoder(to).Encode(signedParts{Upload: "u", Part: testPart, First: int64(first), URLs: a.urls(first)})
	case strings.HasSuffix(request.URL.Path, "/finish"):
		to.WriteHeader(http.StatusCreated)
	case request.Method == http.MethodGet:
		offset, _ := strconv.Atoi(query.Get("offset"))
		first := offset / testPart
		a.signs++
		to.Header().Set("Content-Type", partsType)
		json.NewEncoder(to).Encode(signedParts{Part: testPart, First: int64(first), URLs: a.urls(first)})
	default:
		content, _ := io.ReadAll(request.Body)
		a.bodies[digestOf(content)] = content
		to.WriteHeader(http.StatusCreated)
		json.NewEncoder(to).Encode(map[string]any{"size": len(content), "digest": digestOf(content)})
	}
}

func (a *objectArchive) urls(first int) []string {
	at := func(number int) string { return fmt.Sprintf("%s/%d?sign=%d", a.store.URL, number, a.signs) }
	return []string{at(first), at(first + 1)}
}

func TestAFileGoesToTheObjectStoreInPartsAndBack(t *testing.T) {
	at, kept := objectPod(t)
	firstPause = 1e6
	for _, size := range []int{directMax + 1, 3 * testPart, 3*testPart + 7} {
		path, text := filepath.Join(at.folder, "file"), strings.Repeat("0123456789abcdef", size/16+1)[:size]
		write(t, path, text, 0o644)
		target, file := roundTrip(t, at, path, "")
		if got, _ := os.ReadFile(target); string(got) != text || file.Size != int64(size) || file.Digest != digestOf([]byte(text)) {
			t.Errorf("%d bytes, %+v", len(got), file)
		}
		kept.cuts = 3
		target = filepath.Join(t.TempDir(), "x")
		if code, said := at.fetch(t, target, file); code != 0 {
			t.Error(said)
		}
		if got, _ := os.ReadFile(target); string(got) != text {
			t.Errorf("%d bytes after broken connections", len(got))
		}
	}
	if len(kept.bodies) != 0 {
		t.Error("the archive got the file itself")
	}
}

func TestASmallFileGoesToTheArchive(t *testing.T) {
	at, kept := objectPod(t)
	path := filepath.Join(at.folder, "file")
	write(t, path, strings.Repeat("x", directMax), 0o644)
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path}}})
	if got := at.supervised(t, "--", "true"); got.code != 0 || len(kept.bodies) != 1 || len(kept.objects) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnExpiredURLIsReplacedByANewOne(t *testing.T) {
	at, kept := objectPod(t)
	kept.expires = true
	path := filepath.Join(at.folder, "file")
	write(t, path, strings.Repeat("x", 2*testPart), 0o644)
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path}}})
	got := at.supervised(t, "--", "true")
	if got.code != 0 || len(kept.objects) != 2 {
		t.Errorf("%+v, %d objects", got, len(kept.objects))
	}
	if strings.Contains(got.stderr, "sign=") {
		t.Errorf("the log has a signature: %s", got.stderr)
	}
}

// partArchive is an archive without an object store, which takes parts. It breaks each second connection.
type partArchive struct {
	mutex  sync.Mutex
	parts  map[string][]byte
	puts   int
	finish url.Values
}

func (a *partArchive) serve(to http.ResponseWriter, request *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch {
	case request.Header.Get("Torpor-Direct") != "":
		json.NewEncoder(to).Encode(signedParts{Upload: "u", Part: testPart})
	case strings.HasSuffix(request.URL.Path, "/finish"):
		a.finish = request.URL.Query()
		to.WriteHeader(http.StatusCreated)
	case request.URL.Query().Get("upload") == "u":
		if a.puts++; a.puts%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		content, _ := io.ReadAll(request.Body)
		a.parts[filepath.Base(request.URL.Path)] = content
		to.WriteHeader(http.StatusCreated)
	default:
		to.WriteHeader(http.StatusBadRequest)
	}
}

func TestABrokenUploadToTheArchiveGoesOnWithItsPart(t *testing.T) {
	kept := &partArchive{parts: map[string][]byte{}}
	at := newPod(t, kept.serve)
	firstPause = 1e6
	path, text := filepath.Join(at.folder, "file"), strings.Repeat("0123456789abcdef", testPart/8)+"end"
	write(t, path, text, 0o644)
	setFiles(t, filesSpec{Out: []outputSpec{{Name: "x", Path: path}}})
	if got := at.supervised(t, "--", "true"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if string(kept.parts["0"])+string(kept.parts["1"])+string(kept.parts["2"]) != text || kept.puts != 6 {
		t.Errorf("%d parts by %d requests", len(kept.parts), kept.puts)
	}
	if kept.finish.Get("size") != strconv.Itoa(len(text)) || kept.finish.Get("digest") != digestOf([]byte(text)) {
		t.Error(kept.finish)
	}
}
