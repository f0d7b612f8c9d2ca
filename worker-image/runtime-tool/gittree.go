package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	treeMax      = 16 << 20 // bytes of one tree or commit
	linkMax      = 4096
	modeTree     = "40000"
	modeFile     = "100644"
	modeProgram  = "100755"
	modeLink     = "120000"
	modeGitlink  = "160000" // a submodule
	gitDirectory = ".git"
)

// treeEntry is an entry of a tree of a repository.
type treeEntry struct {
	mode, name string
	id         objectID
}

// checkout writes the files of a commit, or what it has at a path, to a target: a folder, or one file.
func (p *packObjects) checkout(commit objectID, inside, target string, limit *budget) error {
	entry, err := p.rootOf(commit)
	if err != nil {
		return err
	}
	for _, name := range splitPath(inside) {
		if entry, err = p.child(entry, name, inside); err != nil {
			return err
		}
	}
	if entry.mode != modeTree {
		return p.checkoutFile(entry, inside, target, limit)
	}
	if err := os.MkdirAll(target, 0o777); err != nil {
		return failure(exitCannotCreate, "cannot create %s: %s", target, err)
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return failure(exitCannotCreate, "cannot open %s: %s", target, err)
	}
	defer root.Close()
	return p.writeTree(root, "", entry.id, limit)
}

func splitPath(inside string) []string {
	return strings.FieldsFunc(inside, func(r rune) bool { return r == '/' })
}

func (p *packObjects) rootOf(commit objectID) (treeEntry, error) {
	object, err := p.find(commit)
	if err != nil {
		return treeEntry{}, err
	}
	text, err := p.read(object, treeMax)
	if err != nil {
		return treeEntry{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	kind, name, _ := strings.Cut(line, " ")
	id, known := parseID(name)
	switch {
	case object.kind == tagObject && kind == "object" && known: // a tag of a tag is refused by the next branch
		if target, err := p.find(id); err != nil || target.kind != commitObject {
			return treeEntry{}, failure(exitContent, "the tag is not one of a commit")
		}
		return p.rootOf(id)
	case object.kind == commitObject && kind == "tree" && known:
		return treeEntry{mode: modeTree, id: id}, nil
	default:
		return treeEntry{}, failure(exitContent, "%s is not a commit", commit)
	}
}

func (p *packObjects) child(tree treeEntry, name, inside string) (treeEntry, error) {
	if tree.mode == modeTree {
		entries, err := p.tree(tree.id)
		if err != nil {
			return treeEntry{}, err
		}
		for _, entry := range entries {
			if entry.name == name {
				return entry, nil
			}
		}
	}
	return treeEntry{}, failure(exitContent, "the repository has no %s", inside)
}

func (p *packObjects) checkoutFile(entry treeEntry, inside, target string, limit *budget) error {
	if entry.mode != modeFile && entry.mode != modeProgram {
		return failure(exitContent, "%s of the repository is neither a file nor a folder", inside)
	}
	root, err := os.OpenRoot(path.Dir(target))
	if err != nil {
		return failure(exitCannotCreate, "cannot open the folder of %s: %s", target, err)
	}
	defer root.Close()
	return p.writeBlob(root, path.Base(target), entry, limit)
}

func (p *packObjects) tree(id objectID) ([]treeEntry, error) {
	object, err := p.find(id)
	if err != nil {
		return nil, err
	}
	text, err := p.read(object, treeMax)
	if err != nil {
		return nil, err
	}
	if object.kind != treeObject {
		return nil, failure(exitContent, "%s is not a tree", id)
	}
	var entries []treeEntry
	for len(text) > 0 {
		head, rest, ended := bytes.Cut(text, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ended || !named || len(rest) < len(id) {
			return nil, failure(exitContent, "the tree %s is damaged", id)
		}
		entries = append(entries, treeEntry{mode, name, objectID(rest[:len(id)])})
		text = rest[len(id):]
	}
	return entries, nil
}

// writeTree writes the entries of a tree below a folder. A repository may have any names, so each is checked.
func (p *packObjects) writeTree(root *os.Root, folder string, id objectID, limit *budget) error {
	if strings.Count(folder, "/") >= depthMax {
		return failure(exitContent, "the repository has more than %d levels of folders", depthMax)
	}
	entries, err := p.tree(id)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := limit.takeEntry(); err != nil {
			return err
		}
		if !validName(entry.name) {
			return failure(exitContent, "the repository has an entry with the name %q", path.Join(folder, entry.name))
		}
		if err := p.writeEntry(root, path.Join(folder, entry.name), entry, limit); err != nil {
			return err
		}
	}
	return nil
}

func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && !strings.EqualFold(name, gitDirectory)
}

func (p *packObjects) writeEntry(root *os.Root, name string, entry treeEntry, limit *budget) error {
	switch entry.mode {
	case modeTree, modeGitlink:
		if err := root.Mkdir(name, 0o777); err != nil {
			return failure(exitContent, "cannot create %q: %s", name, err)
		}
		if entry.mode == modeGitlink { // an empty folder, as `git clone` leaves it
			return nil
		}
		return p.writeTree(root, name, entry.id, limit)
	case modeLink:
		return p.writeLink(root, name, entry)
	default: // old repositories have modes of files like 100664
		return p.writeBlob(root, name, entry, limit)
	}
}

func (p *packObjects) writeLink(root *os.Root, name string, entry treeEntry) error {
	object, err := p.find(entry.id)
	if err != nil {
		return err
	}
	target, err := p.read(object, linkMax)
	if err != nil {
		return err
	}
	if err := checkLink(name, string(target)); err != nil {
		return err
	}
	if err := root.Symlink(string(target), name); err != nil {
		return failure(exitContent, "cannot create %q: %s", name, err)
	}
	return nil
}

func (p *packObjects) writeBlob(root *os.Root, name string, entry treeEntry, limit *budget) error {
	object, err := p.find(entry.id)
	if err != nil {
		return err
	}
	if object.kind != blobObject {
		return failure(exitContent, "%q of the repository is not a file", name)
	}
	mode := fs.FileMode(0o666)
	if entry.mode == modeProgram {
		mode = 0o777
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return failure(exitContent, "cannot create %q: %s", name, err)
	}
	defer file.Close()
	return fill(file, p.content(object), limit)
}
