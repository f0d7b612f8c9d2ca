package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	gitUser       = "git"
	refNameMax    = 255
	uploadPack    = "/git-upload-pack"
	advertisement = "application/x-git-upload-pack-advertisement"
)

// gitSpec is a repository as the source of an input. Token is the name of a variable.
type gitSpec struct {
	URL      string `json:"url"`
	Ref      string `json:"ref"`
	Path     string `json:"path"`
	Username string `json:"username"`
	Token    string `json:"token"`
}

// gitRemote is a repository behind Git's HTTP protocol, version 2 (gitprotocol-http, gitprotocol-v2).
type gitRemote struct {
	client  *http.Client
	context context.Context
	spec    gitSpec
	base    string // the address after redirects
	token   string
	packet  *packets
}

// fetchGit writes the files of one commit, and returns its id.
func fetchGit(ctx context.Context, source gitSpec, target string, limit *budget) (objectID, error) {
	client, err := sourceClient()
	if err != nil {
		return objectID{}, err
	}
	var commit objectID
	err = repeatSource(ctx, source.URL, target, func() (err error) {
		remote := &gitRemote{client: client, context: ctx, spec: source, base: source.URL, token: os.Getenv(source.Token)}
		again := *limit
		commit, err = remote.fetch(target, &again)
		spend(limit, again, err)
		return err
	})
	return commit, err
}

func (g *gitRemote) fetch(target string, limit *budget) (objectID, error) {
	if source, err := url.Parse(g.spec.URL); err != nil || source.Host == "" || source.User != nil || (source.Scheme != "http" && source.Scheme != "https") {
		return objectID{}, failure(exitContent, "%q is not the address of a repository with http:// or https://", withoutUser(g.spec.URL))
	}
	g.base = strings.TrimSuffix(g.base, "/")
	if err := g.discover(); err != nil {
		return objectID{}, err
	}
	commit, err := g.resolve()
	if err != nil {
		return objectID{}, err
	}
	scratch, err := os.CreateTemp(filepath.Dir(target), ".objects-")
	if err != nil {
		return objectID{}, failure(exitCannotCreate, "cannot create a file: %s", err)
	}
	defer scratch.Close()
	os.Remove(scratch.Name()) // the open file stays
	pack, err := g.download(commit, scratch)
	if err != nil {
		return objectID{}, err
	}
	return commit, pack.checkout(commit, g.spec.Path, target, limit)
}

// discover asks for the capabilities of the server. A redirect here changes the address of the repository.
func (g *gitRemote) discover() error {
	const suffix = "/info/refs?service=git-upload-pack"
	response, err := g.request(http.MethodGet, suffix, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	final := response.Request.URL.String()
	if !strings.HasSuffix(final, suffix) {
		return failure(exitContent, "%s redirects to an address that is not a repository", g.spec.URL)
	}
	if base := strings.TrimSuffix(final, suffix); base != g.base {
		if !sameOrigin(base, g.base) {
			g.token = "" // it is for the server that the author wrote
		}
		g.base = base
	}
	if response.Header.Get("Content-Type") != advertisement {
		return failure(exitContent, "%s is not a Git repository with the smart HTTP protocol", g.spec.URL)
	}
	g.packet = &packets{from: response.Body}
	for {
		line, ok, err := g.packet.line()
		if err != nil {
			return withEnd(err)
		}
		if ok && line == "version 2" {
			return g.readCapabilities()
		}
		if ok && !strings.HasPrefix(line, "# service=") {
			return failure(exitContent, "the server of %s does not have version 2 of Git's protocol", g.spec.URL)
		}
	}
}

func (g *gitRemote) readCapabilities() error {
	for {
		line, ok, err := g.packet.line()
		if err != nil || !ok {
			return withEnd(err)
		}
		if format, found := strings.CutPrefix(line, "object-format="); found && format != "sha1" {
			return failure(exitContent, "the repository has objects of %s; only sha1 is supported", printable(format))
		}
	}
}

// resolve returns the commit of the ref: a branch, a tag, a full name, or a commit itself.
func (g *gitRemote) resolve() (objectID, error) {
	if id, isCommit := parseID(g.spec.Ref); isCommit {
		return id, nil
	}
	candidates := []string{"HEAD"}
	if ref := g.spec.Ref; ref != "" {
		candidates = []string{"refs/heads/" + ref, "refs/tags/" + ref, ref}
	}
	var body bytes.Buffer
	body.WriteString(packetLine("command=ls-refs") + packetLine("agent=torpor-tool") + delimiter + packetLine("peel"))
	for _, name := range candidates {
		if len(name) > refNameMax || strings.ContainsAny(name, " \n\x00") {
			return objectID{}, failure(exitContent, "%q is not the name of a ref", name)
		}
		body.WriteString(packetLine("ref-prefix " + name))
	}
	body.WriteString(flushPacket)
	found, err := g.listRefs(body.Bytes())
	if err != nil {
		return objectID{}, err
	}
	for _, name := range candidates {
		if id, known := found[name]; known {
			return id, nil
		}
	}
	return objectID{}, failure(exitContent, "the repository %s has no branch or tag %s", g.spec.URL, candidates[len(candidates)-1])
}

func (g *gitRemote) listRefs(body []byte) (map[string]objectID, error) {
	response, err := g.request(http.MethodPost, uploadPack, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	packet, found := &packets{from: response.Body}, map[string]objectID{}
	for {
		line, ok, err := packet.line()
		if err != nil || !ok {
			return found, withEnd(err)
		}
		words := strings.Split(line, " ")
		id, known := parseID(words[0])
		if len(words) < 2 || !known {
			return nil, failure(exitContent, "the server does not list refs")
		}
		found[words[1]] = id
		for _, word := range words[2:] {
			if peeled, isPeeled := strings.CutPrefix(word, "peeled:"); isPeeled {
				if id, known := parseID(peeled); known {
					found[words[1]] = id
				}
			}
		}
	}
}

// download requests the commit with its files, and reads the pack.
func (g *gitRemote) download(commit objectID, scratch *os.File) (*packObjects, error) {
	body := packetLine("command=fetch") + packetLine("agent=torpor-tool") + delimiter + packetLine("ofs-delta") +
		packetLine("no-progress") + packetLine("want "+commit.String()) + packetLine("deepen 1") + packetLine("done") + flushPacket
	response, err := g.request(http.MethodPost, uploadPack, []byte(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	packet := &packets{from: response.Body}
	for {
		line, ok, err := packet.line()
		if err != nil {
			return nil, withEnd(err)
		}
		if ok && line == "packfile" {
			pack, err := readPack(&sideband{packets: packet}, scratch)
			return pack, withEnd(err)
		}
	}
}

func (g *gitRemote) request(method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(g.context, method, g.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, failure(exitContent, "%q is not the address of a repository", g.spec.URL)
	}
	request.Header.Set("User-Agent", "git/torpor-tool") // some hosts respond to Git alone
	request.Header.Set("Git-Protocol", "version=2")
	if body != nil {
		request.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	}
	if g.token != "" {
		user := g.spec.Username
		if user == "" {
			user = gitUser
		}
		request.SetBasicAuth(user, strings.TrimSpace(g.token))
	}
	response, err := g.client.Do(request)
	if err != nil {
		return nil, withoutQuery(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusNotFound {
		return nil, failure(exitContent, "%s responded with %s: check the address, and the token for a private repository", g.spec.URL, statusOf(response))
	}
	return nil, unexpectedStatus(g.spec.URL, response)
}

func parseID(text string) (objectID, bool) {
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != len(objectID{}) {
		return objectID{}, false
	}
	return objectID(decoded), true
}

func sameOrigin(one, other string) bool {
	first, err := url.Parse(one)
	second, failed := url.Parse(other)
	return err == nil && failed == nil && first.Host == second.Host && first.Scheme == second.Scheme
}

// withoutUser returns an address without the name and password in it.
func withoutUser(address string) string {
	if parsed, err := url.Parse(address); err == nil {
		parsed.User = nil
		return parsed.String()
	}
	return ""
}

// withEnd makes the end of a stream within a response an error of the connection, which a retry may mend.
func withEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the response ended early: %w", io.ErrUnexpectedEOF)
	}
	return err
}
