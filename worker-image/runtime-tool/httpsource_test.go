package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSourcesAreNotAtForbiddenAddresses(t *testing.T) {
	rules, err := parseRules(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "0.0.0.0:80", "[::ffff:127.0.0.1]:80", "[fe80::1%eth0]:80",
		"[64:ff9b::a9fe:a9fe]:80", "[2002:7f00:1::]:80", "224.0.0.1:80", "[fd00:ec2::254]:80", "[::7f00:1]:80",
	} {
		if rules.check(address) == nil {
			t.Errorf("%s may be reached", address)
		}
	}
	for _, address := range []string{"10.0.0.1:80", "93.184.216.34:443", "[2606:2800::1]:443"} {
		if err := rules.check(address); err != nil {
			t.Error(err)
		}
	}
}

func TestASettingAllowsAnAddressAndTheMoreSpecificOneWins(t *testing.T) {
	rules, err := parseRules(func(name string) string {
		return map[string]string{allowedVariable: "127.0.0.0/8,10.0.0.0/8", deniedVariable: "10.1.0.0/16 127.0.0.9"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, allowed := range map[string]bool{
		"127.0.0.1:1": true, "127.0.0.9:1": false, "10.0.0.1:1": true, "10.1.2.3:1": false, "[::1]:1": false,
	} {
		if (rules.check(address) == nil) != allowed {
			t.Error(address)
		}
	}
}

func TestAWebServerIsASource(t *testing.T) {
	at, _ := filesPod(t)
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/away" {
			http.Redirect(to, request, "http://169.254.169.254/latest", http.StatusFound)
			return
		}
		if request.URL.Path == "/signed" {
			http.Redirect(to, request, "http://127.0.0.1:1/object?signature=secret", http.StatusFound)
			return
		}
		io.WriteString(to, "content")
	}))
	defer server.Close()
	firstPause = 1e6
	target := filepath.Join(t.TempDir(), "x")
	try := func(path, digest string) (int, string) {
		setFiles(t, filesSpec{In: []inputSpec{{Name: "x", Target: target, HTTP: &httpSpec{URL: server.URL + path, SHA256: digest}}}})
		return at.run([]string{"fetch"}, "")
	}
	if code, said := try("/", ""); code != exitContent || !strings.Contains(said, "loopback") {
		t.Error(code, said)
	}
	t.Setenv(allowedVariable, "127.0.0.1")
	if code, said := try("/", digestOf([]byte("content"))); code != 0 {
		t.Error(said)
	}
	if text, _ := os.ReadFile(target); string(text) != "content" {
		t.Error(string(text))
	}
	if code, said := try("/", digestOf(nil)); code != exitContent || !strings.Contains(said, "SHA-256") {
		t.Error(code, said)
	}
	if code, said := try("/signed", ""); code != exitUnavailable || strings.Contains(said, "secret") {
		t.Error(code, said)
	}
	if code, said := try("/away", ""); code != exitContent || !strings.Contains(said, "link-local") {
		t.Error(code, said)
	}
}
