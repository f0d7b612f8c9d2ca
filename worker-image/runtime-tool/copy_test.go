package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "torpor-tool"), "binary", 0o555)
	write(t, filepath.Join(root, "start.py"), "start", 0o600)
	write(t, filepath.Join(root, certificates), "PEM", 0o400)
	write(t, filepath.Join(root, "lib/torpor/__init__.py"), "package", 0o400)
	write(t, filepath.Join(root, "other"), "no part of the folder", 0o644)
	return root
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAnyUserCanReadTheCopyWhateverTheUmaskIs(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	target := t.TempDir()
	if err := copyFolder(folder(t), target, entriesOf("")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{
		"lib": 0o755, "lib/torpor": 0o755, "lib/torpor/__init__.py": 0o644, "start.py": 0o644, certificates: 0o644, "torpor-tool": 0o755,
	} {
		about, err := os.Stat(filepath.Join(target, name))
		if err != nil || about.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, not %v (%v)", name, about.Mode().Perm(), mode, err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "other")); err == nil {
		t.Error("it copied a file that is no part of the runtime folder")
	}
}

func TestAPodGetsThePartOfTheFolderThatItUses(t *testing.T) {
	for part, wanted := range map[string][]string{
		partTool: {certificates, "torpor-tool"},
		"":       {certificates, "lib", "start.py", "torpor-tool"},
		"later":  {certificates, "lib", "start.py", "torpor-tool"},
	} {
		target := t.TempDir()
		if err := copyFolder(folder(t), target, entriesOf(part)); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		found, err := os.ReadDir(target)
		for _, entry := range found {
			names = append(names, entry.Name())
		}
		if err != nil || !slices.Equal(names, wanted) {
			t.Errorf("part %q has %v, not %v (%v)", part, names, wanted, err)
		}
	}
}

func TestARestartedCopySucceedsOverAnUnfinishedOne(t *testing.T) {
	source, target := folder(t), t.TempDir()
	write(t, filepath.Join(target, "torpor-tool"), "bin", 0o200)
	write(t, filepath.Join(target, "start.py"), "st", 0o444)
	for range 2 {
		if err := copyFolder(source, target, entriesOf("")); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, filepath.Join(target, "start.py")) != "start" || read(t, filepath.Join(target, "torpor-tool")) != "binary" {
		t.Error("the copy differs from the folder")
	}
	left, _ := filepath.Glob(filepath.Join(target, ".*"))
	if len(left) != 0 {
		t.Errorf("unfinished files are left: %v", left)
	}
}

func TestAnIncompleteFolderAndAnUnwritableTargetHaveTheirExitCodes(t *testing.T) {
	source := folder(t)
	write(t, filepath.Join(source, "file"), "", 0o644)
	expect(t, copyFolder(source, filepath.Join(source, "file", "target"), entriesOf("")), exitCannotCreate, "cannot copy lib")
	expect(t, copyFolder(t.TempDir(), t.TempDir(), entriesOf("")), exitNoInput, "incomplete")
}
