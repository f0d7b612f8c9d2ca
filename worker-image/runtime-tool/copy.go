package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folderEntries are what the image has at its root, in the order of copying.
var folderEntries = []string{"lib", "start.py", "torpor-tool"}

func runCopy(args []string) error {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return failure(exitUsage, "usage: torpor-tool copy DEST")
	}
	program, err := os.Executable()
	if err != nil {
		return failure(exitNoInput, "cannot find the runtime folder: %s", err)
	}
	return copyFolder(filepath.Dir(program), args[0])
}

// copyFolder copies the runtime folder. Each file appears whole, by a rename, so that a restarted init container
// succeeds over what an earlier one left. Any user can read the copy, whatever the umask is.
func copyFolder(source, target string) error {
	for _, entry := range folderEntries {
		err := filepath.WalkDir(filepath.Join(source, entry), func(path string, found fs.DirEntry, err error) error {
			if err != nil {
				return failure(exitNoInput, "the runtime folder is incomplete: %s", err)
			}
			name, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}
			if err := copyEntry(path, filepath.Join(target, name), found); err != nil {
				return failure(exitCannotCreate, "cannot copy %s: %s", name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(source, target string, found fs.DirEntry) error {
	if found.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return os.Chmod(target, 0o755)
	}
	about, err := os.Stat(source)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if about.Mode()&0o111 != 0 {
		mode = 0o755
	}
	partial := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".partial")
	if err := copyFile(source, partial, mode); err != nil {
		return err
	}
	// Bytecode may be valid for the time of its source.
	if err := os.Chtimes(partial, about.ModTime(), about.ModTime()); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

func copyFile(source, target string, mode fs.FileMode) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	if err := to.Chmod(mode); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
