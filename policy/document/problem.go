package document

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// problem is an error before its texts are made. The texts may have verbs, see
// fill.
type problem struct {
	node                 *tree.Node
	atKey                bool   // at the key of the node, not the node itself
	missing              string // the name of what is not in the node
	found, allowed, near string // found is what the node is when it is empty
	hint                 hint   // how near is made
	// taker is what takes the node from elsewhere in the document, nil for nothing.
	taker *tree.Node
	// The replacements of verbs. The other text must be one of ours, because its
	// verbs are replaced, too.
	x, y        int
	word, other string
}

// hint is the way in which a suggestion is made.
type hint uint8

const (
	asItIs     hint = iota // near itself
	filled                 // near with its verbs filled in
	renamed                // near with the name behind the colon of the text
	hyphenated             // the text as a name with hyphens
	lowerCase              // the text in lower case, in quotes
	aDuration              // the text as a duration of at least x
	aRate                  // the text as a rate with a count of at least x
	aShare                 // the text as a share from x to y
)

// err returns the error of a problem.
func (p *problem) err(file string) *Error {
	n := p.node
	var path builder
	writePath(&path, n)
	if p.missing != "" {
		writeName(&path, p.missing)
	}
	e := &Error{File: file, Line: n.Line, Column: n.Column, Path: path.String()}
	text := n.Text
	if p.atKey {
		e.Line, e.Column, text = n.KeyLine, n.KeyColumn, n.Key
	}
	if p.found == "" {
		p.found = describe(n)
	}
	e.Found, e.Allowed = p.fill(p.found, text), p.fill(p.allowed, text)
	if p.missing != "" {
		e.Allowed += "; it is required"
	}
	e.Nearest = p.meant(text)
	return e
}

// fill returns a text with its verbs filled in, about a text of the document:
//
//	$q  the text of the document in quotes
//	$t  the same without
//	$x  the number x of the problem
//	$y  the number y
//	$w  the word
//	$l  the list that the word is, as "a, b or c"
//	$o  the other text, which may have verbs itself
//	$d  what a duration may be, $r a rate, $b a backoff
func (p *problem) fill(template, text string) string {
	var filled builder
	for i := 0; i < len(template); i++ {
		piece := template[i : i+1]
		if piece == "$" {
			i++
			switch template[i] {
			case 'q':
				piece = quote(text)
			case 't':
				piece = shorten(text)
			case 'x':
				filled.addInt(p.x)
				continue
			case 'y':
				filled.addInt(p.y)
				continue
			case 'w':
				piece = p.word
			case 'o':
				piece = p.fill(p.other, text)
			case 'd':
				piece = durationText
			case 'r':
				piece = rateText
			case 'b':
				piece = backoffText
			default:
				piece = orList(p.word)
			}
		}
		filled.add(piece)
	}
	return filled.String()
}

// meant returns a suggestion for a text, "" when no valid text is near.
func (p *problem) meant(text string) string {
	near := p.near
	ok := true
	switch p.hint {
	case filled:
		near = p.fill(near, text)
	case hyphenated:
		near = replace(text, " _.", '-')
		ok = len(near) <= longestName && validName(near)
	case lowerCase:
		near = quote(lower(text))
	case renamed:
		near += text[strings.IndexByte(text, ':'):]
	case aDuration:
		near = respell(text)
		_, v := parseDuration(near, time.Duration(p.x))
		ok = v == good
	case aRate:
		near = respell(text)
		_, _, v := parseRate(near, uint64(p.x))
		ok = v == good
	case aShare:
		near = respell(text)
		if p.node.Kind == tree.Number && text[0] != '0' {
			near += "%"
		}
		_, ok = parseShare(near, p.x, p.y)
	}
	if !ok {
		return ""
	}
	return near
}
