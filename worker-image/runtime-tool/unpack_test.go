package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type entry struct {
	name, link string
	kind       byte
	text       string
}

func tarOf(entries ...entry) []byte {
	var into bytes.Buffer
	archive := tar.NewWriter(&into)
	for _, each := range entries {
		header := &tar.Header{Name: each.name, Linkname: each.link, Typeflag: each.kind, Mode: 0o644, Size: int64(len(each.text))}
		archive.WriteHeader(header)
		io.WriteString(archive, each.text)
	}
	archive.Close()
	return into.Bytes()
}

func TestNoEntryOfAnArchiveLeavesItsFolder(t *testing.T) {
	file := func(name string) entry { return entry{name, "", tar.TypeReg, "x"} }
	link := func(name, target string) entry { return entry{name, target, tar.TypeSymlink, ""} }
	for name, entries := range map[string][]entry{
		"parent":                {file("../x")},
		"absolute":              {file("/tmp/x")},
		"parent within":         {file("a/../../x")},
		"unclean":               {file("a//x")},
		"link to parent":        {link("l", "..")},
		"link absolute":         {link("l", "/etc/passwd")},
		"link through a link":   {{"d/", "", tar.TypeDir, ""}, link("d/l", ".."), link("y", "d/l/..")},
		"file through a link":   {{"d/", "", tar.TypeDir, ""}, link("l", "d"), file("l/x")},
		"file over a link":      {link("l", "x"), file("l")},
		"file twice":            {file("x"), file("x")},
		"hard link":             {file("x"), {"y", "x", tar.TypeLink, ""}},
		"hard link outside":     {{"y", "/etc/passwd", tar.TypeLink, ""}},
		"device":                {{"y", "", tar.TypeChar, ""}},
		"pipe":                  {{"y", "", tar.TypeFifo, ""}},
		"link of deep folder":   {{"a/b/", "", tar.TypeDir, ""}, link("a/b/l", "../../../x")},
		"too deep":              {file(strings.Repeat("a/", 300) + "x")},
		"link that is no clean": {link("l", "a/../b")},
	} {
		folder := t.TempDir()
		err := unpack(bytes.NewReader(tarOf(entries...)), filepath.Join(folder, "in"), &budget{1 << 20, 100})
		if err == nil {
			t.Errorf("%s was unpacked", name)
		}
		if left, _ := os.ReadDir(folder); len(left) != 1 {
			t.Errorf("%s: %v", name, left)
		}
	}
}

func TestLinksThatLeaveTheFolderAreNotStored(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "..", "../../x", "a/../../x"} {
		folder := t.TempDir()
		os.Symlink(target, filepath.Join(folder, "l"))
		if err := pack(folder, io.Discard); err == nil {
			t.Errorf("a link to %s was stored", target)
		}
	}
}

func TestUnpackingIsBounded(t *testing.T) {
	huge := compressedBytes(t, func(into io.Writer) error {
		_, err := io.CopyN(into, endless{}, 64<<20)
		return err
	})
	unpacked, err := decompressed(bytes.NewReader(huge), true)
	if err != nil {
		t.Fatal(err)
	}
	err = writeStream(unpacked, filepath.Join(t.TempDir(), "x"), &budget{32 << 20, 1})
	if err == nil || !strings.Contains(err.Error(), "limit of an input") {
		t.Error(err)
	}
	var entries []entry
	for number := range 20 {
		entries = append(entries, entry{fmt.Sprint(number), "", tar.TypeReg, ""})
	}
	err = unpack(bytes.NewReader(tarOf(entries...)), filepath.Join(t.TempDir(), "x"), &budget{1 << 20, 10})
	if err == nil || !strings.Contains(err.Error(), "entries") {
		t.Error(err)
	}
	followed := io.MultiReader(bytes.NewReader(tarOf(entry{"x", "", tar.TypeReg, "text"})), io.LimitReader(endless{}, 64<<20))
	err = unpack(followed, filepath.Join(t.TempDir(), "x"), &budget{1 << 20, 10})
	if err == nil || !strings.Contains(err.Error(), "limit of an input") {
		t.Error(err)
	}
	lying := tarOf(entry{"x", "", tar.TypeReg, "text"})
	copy(lying[124:136], "77777777777\x00") // a size of 8 GiB
	if err := unpack(bytes.NewReader(lying), filepath.Join(t.TempDir(), "x"), &budget{1 << 20, 10}); err == nil {
		t.Error("a wrong header was accepted")
	}
}

type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

func compressedBytes(t *testing.T, with func(io.Writer) error) []byte {
	t.Helper()
	var into bytes.Buffer
	if err := compressed(with)(&into); err != nil {
		t.Fatal(err)
	}
	return into.Bytes()
}
