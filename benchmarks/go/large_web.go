// A web with a known truth on loopback, all of it a function of a seed: see benchmarks/large_web.py.
//
//	large_web --pages 20000 --seed 1
//
// Host i is the address 127.(1+i>>16).(i>>8).i, on one port that is bound to the loopback device. It prints that port.
// At 127.0.0.1 it answers the benchmark: /seeds, /truth (URL, content; what must be fetched), /requests (pages that were
// not requested exactly once, requests of forbidden URLs, CPU seconds; starts counting anew), /change?share=0.05.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	wordsOfLanguage = 100_000
	leastPages      = 5
	quantiles       = 1 << 21
	slowest         = 300 * time.Millisecond
	slowPages       = 50 // larger hosts are never slow: they would bound the crawl
)

var (
	sections = []string{"news", "guide", "people", "places", "notes", "archive", "topics", "reports"}
	common   = [][]string{
		strings.Fields("the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so"),
		strings.Fields("der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur"),
		strings.Fields("de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec son cette ou comme aux mais elle été leur sa nous fait être ses tout on même deux aussi ces peut sans entre"),
	}
	tongues   = []string{"en", "de", "fr"}
	syllables = [][2][]string{
		{strings.Fields("b c d f g h l m n p r s t w br ch cl fl gr pl sh st th tr"), strings.Fields("a e i o u ea ou ai ar er on in al ent ing")},
		{strings.Fields("b d f g h k l m n r s t w z sch st br kr ver ge ent"), strings.Fields("a e i o u ei au ie er en ung ich el ast")},
		{strings.Fields("b c d f g l m n p r s t v ch qu bl pr tr gn"), strings.Fields("a é i o u eau oi ou an on ent eur aire elle ique")},
	}
)

// random is splitmix64.
type random uint64

func mix(values ...uint64) random {
	state := random(0)
	for _, value := range values {
		state = random(state.next() ^ value*0x9E3779B97F4A7C15)
	}
	return state
}

func (r *random) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *random) below(n int) int       { return int(r.next() >> 11 % uint64(n)) }
func (r *random) share() float64        { return float64(r.next()>>11) / (1 << 53) }
func (r *random) chance(p float64) bool { return r.share() < p }

type kind uint8 // of a host

const (
	living kind = iota
	slow
	refusing // nothing listens on its port
	silent
	denied // by robots.txt
)

type host struct {
	pages     int
	kind      kind
	robots    uint8 // 0 none, 1 all allowed, 2 /private/ forbidden, 3 rules for another robot first; from 1 on with a sitemap
	language  uint8
	requested []uint32 // times, by page
}

type web struct {
	seed      uint64
	port      int
	hosts     []host
	words     [3][]string
	ranks     []int32       // of words by quantile: P(rank) ~ 1/rank
	changed   atomic.Uint64 // share of pages, as bits of a float64
	forbidden atomic.Int64
}

func newWeb(seed uint64, pages int) *web {
	w := &web{seed: seed, ranks: make([]int32, quantiles)}
	for i := range w.ranks {
		w.ranks[i] = int32(math.Exp(float64(i)/quantiles*math.Log(wordsOfLanguage))) - 1
	}
	for language := range w.words {
		known, r := map[string]bool{}, mix(seed, 1, uint64(language))
		add := func(word string) {
			if !known[word] {
				known[word] = true
				w.words[language] = append(w.words[language], word)
			}
		}
		for _, word := range common[language] {
			add(word)
		}
		for len(w.words[language]) < wordsOfLanguage {
			word := ""
			for parts := 2 + r.below(3); parts > 0; parts-- {
				of := syllables[language]
				word += of[0][r.below(len(of[0]))] + of[1][r.below(len(of[1]))]
			}
			add(word)
		}
	}
	for number, size := range sizes(pages) {
		r := mix(seed, 2, uint64(number))
		h := host{pages: size, language: uint8(r.below(3)), robots: []uint8{0, 0, 0, 1, 1, 2, 2, 3}[r.below(8)]}
		switch share := r.share(); {
		case number < 5: // the largest are always there
		case share < 0.01 && size <= slowPages:
			h.kind = slow
		case share < 0.02:
			h.kind = refusing
		case share < 0.022:
			h.kind = silent
		case share < 0.042:
			h.kind, h.robots = denied, 1
		}
		h.requested = make([]uint32, size)
		w.hosts = append(w.hosts, h)
	}
	return w
}

// sizes of hosts, largest first: 70 % of the pages by a power law from a twentieth of all (at most 50,000) down to five,
// the others on hosts of five.
func sizes(pages int) []int {
	largest := min(50_000.0, float64(pages)/20)
	law := func(exponent float64) (found []int, sum int) {
		for rank := 1.0; ; rank++ {
			size := int(largest * math.Pow(rank, -exponent))
			if size <= leastPages {
				return
			}
			found, sum = append(found, size), sum+size
		}
	}
	low, high := 0.3, 3.0
	for range 40 {
		if _, sum := law((low + high) / 2); float64(sum) > 0.7*float64(pages) {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	found, sum := law(high)
	for ; sum < pages; sum += leastPages {
		found = append(found, leastPages)
	}
	return found
}

func (w *web) origin(number int) string {
	port := w.port
	if w.hosts[number].kind == refusing {
		port++
	}
	return fmt.Sprintf("http://127.%d.%d.%d:%d", 1+number>>16, number>>8&255, number&255, port)
}

func (w *web) path(number, page int) string {
	if page == 0 {
		return "/"
	}
	r := mix(w.seed, 3, uint64(number), uint64(page))
	return "/" + sections[r.below(len(sections))] + "/" + strconv.Itoa(page) + ".html"
}

// isUnlinked: every twentieth leaf of a host with a sitemap is in the sitemap only.
func (w *web) isUnlinked(number, page int) bool {
	h := &w.hosts[number]
	return h.robots > 0 && page%20 == 7 && 3*page+1 >= h.pages
}

// content of a page: where its text was first, whether it is a near copy of that, and its version.
func (w *web) content(number, page int) (of, at int, isNear bool, version int) {
	r := mix(w.seed, 4, uint64(number), uint64(page))
	share, other := r.share(), r.below(1<<40)
	changes, shared := r.share(), r.chance(0.5)
	of, at = number, page
	if changed := math.Float64frombits(w.changed.Load()); changes < changed {
		version = 1
	}
	if page < 4 || share >= 0.1 || version > 0 {
		return
	}
	if at = 1 + other%(page-1); share < 0.05 && shared {
		of = other % len(w.hosts)
		at = 1 + other%(leastPages-1)
	}
	o, a, near, _ := w.content(of, at)
	if near {
		return number, page, false, 0
	}
	return o, a, share >= 0.05, 0
}

// write appends words; with a second source of chance, one in 50 is replaced.
func (w *web) write(out []byte, language uint8, r *random, count int, near *random) []byte {
	words := w.words[language]
	for i := range count {
		word := words[w.ranks[r.next()>>43]]
		if near != nil && near.below(50) == 0 {
			word = words[w.ranks[near.next()>>43]]
		}
		if i > 0 {
			out = append(append(out, ' '), word...)
		} else if word[0] < 'a' || word[0] > 'z' {
			out = append(out, word...)
		} else {
			out = append(append(out, word[0]-32), word[1:]...)
		}
	}
	return out
}

// page is the HTML of a page: words by its content, links by where it is.
func (w *web) page(number, page int) (body []byte, etag string) {
	of, at, isNear, version := w.content(number, page)
	text, link := mix(w.seed, 5, uint64(of), uint64(at), uint64(version)), mix(w.seed, 6, uint64(number), uint64(page))
	menu := mix(w.seed, 7, uint64(of))
	var near *random
	if isNear {
		r := mix(w.seed, 8, uint64(number), uint64(page))
		near = &r
	}
	h, language, out := &w.hosts[number], w.hosts[of].language, make([]byte, 0, 16<<10)
	title, site := w.write(nil, language, &text, 3+text.below(5), nil), w.write(nil, language, &menu, 2, nil)
	out = fmt.Appendf(out, "<!DOCTYPE html>\n<html lang=\"%s\"><head><meta charset=\"utf-8\">\n<title>%s - %s</title>\n"+
		"<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"/style.css\"></head>\n"+
		"<body><header><a href=\"/\">%s</a></header>\n<nav><ul>\n", tongues[language], title, site, site)
	links, next := 20+text.below(41), 3*page+1
	for entry := range 8 {
		out = fmt.Appendf(out, "<li><a href=\"%s\">", w.path(number, (entry+1)%min(h.pages, 9)))
		out = append(w.write(out, language, &menu, 2, nil), "</a></li>\n"...)
	}
	anchor := func() {
		out = append(append(append(out, "<a href=\""...), w.href(number, &next, 3*page+4, &link)...), "\">"...)
		out = append(w.write(out, language, &text, 1+text.below(4), nil), "</a>"...)
	}
	out = fmt.Appendf(out, "</ul></nav>\n<main><article><h1>%s</h1>\n", title)
	for paragraph := 8 + text.below(6); paragraph > 0; paragraph-- {
		out = append(out, "<p>"...)
		for sentence := 4 + text.below(4); sentence > 0; sentence-- {
			out = append(w.write(out, language, &text, 8+text.below(16), near), ". "...)
		}
		anchor()
		links--
		out = append(out, ".</p>\n"...)
	}
	out = fmt.Appendf(out, "<p>%d-%06d.</p></article>\n<ul class=\"related\">\n", of, text.below(1_000_000_000))
	for ; links > 8; links-- {
		out = append(out, "<li>"...)
		anchor()
		out = append(out, "</li>\n"...)
	}
	out = append(w.write(append(out, "</ul></main>\n<footer><p>"...), language, &menu, 12, nil), "</p></footer></body></html>\n"...)
	return out, fmt.Sprintf("\"%d-%d-%t-%d\"", of, at, isNear, version)
}

// href is the target of a link: first the three children of the page, then others; a tenth leads to other hosts.
func (w *web) href(number int, next *int, end int, r *random) string {
	h := &w.hosts[number]
	for *next < min(end, h.pages) {
		*next++
		if !w.isUnlinked(number, *next-1) {
			return w.path(number, *next-1)
		}
	}
	skewed := func(n int) int { u := r.share(); return int(u * u * u * float64(n)) }
	linked := func(number, page int) string {
		if w.isUnlinked(number, page) {
			page = 0
		}
		return w.path(number, page)
	}
	switch share := r.share(); {
	case share < 0.1:
		other := skewed(len(w.hosts))
		return w.origin(other) + linked(other, skewed(w.hosts[other].pages))
	case share < 0.11:
		return "/go/" + strconv.Itoa(skewed(h.pages)/10*10)
	case share < 0.115:
		return "/out/" + strconv.Itoa(r.below(h.pages)/50)
	case share < 0.12:
		return fmt.Sprintf("/%s/%d.html", sections[0], h.pages+r.below(1+h.pages/20))
	case share < 0.13 && h.robots == 2:
		return fmt.Sprintf("/private/%d.html", r.below(h.pages))
	}
	return linked(number, skewed(h.pages))
}

func (w *web) robots(number int) string {
	h, lines := &w.hosts[number], "User-agent: *\n"
	switch {
	case h.kind == denied:
		return lines + "Disallow: /\n"
	case h.robots == 1:
		lines += "Disallow:\n"
	case h.robots == 2:
		lines += "Disallow: /private/\nDisallow: /*?sort=\n"
	case h.robots == 3:
		lines = "User-agent: OtherBot\nDisallow: /\n\n" + lines + "Disallow: /tmp/\nAllow: /tmp/open\nCrawl-delay: 0\n"
	}
	return lines + "\nSitemap: " + w.origin(number) + "/sitemap.xml\n"
}

// ServeHTTP answers by the Host header, which is an address.
func (w *web) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	var a, b, c int
	if n, _ := fmt.Sscanf(request.Host, "127.%d.%d.%d:", &a, &b, &c); n != 3 || a == 0 {
		w.answerBenchmark(to, request)
		return
	}
	number, path := (a-1)<<16|b<<8|c, request.URL.Path
	if number >= len(w.hosts) {
		http.NotFound(to, request)
		return
	}
	h := &w.hosts[number]
	if h.kind == slow {
		time.Sleep(slowest)
	} else if h.kind == silent {
		<-request.Context().Done()
		return
	}
	parts := strings.Split(path, "/")
	page, _ := strconv.Atoi(strings.TrimSuffix(parts[len(parts)-1], ".html"))
	isPage := page < h.pages && w.path(number, page) == path
	if h.kind == denied && path != "/robots.txt" || parts[1] == "private" {
		w.forbidden.Add(1)
	}
	switch {
	case path == "/robots.txt" && h.robots > 0:
		fmt.Fprint(to, w.robots(number))
	case path == "/sitemap.xml" && h.robots > 0:
		to.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(to, "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
		for each := range h.pages {
			fmt.Fprintf(to, "<url><loc>%s%s</loc></url>\n", w.origin(number), w.path(number, each))
		}
		fmt.Fprint(to, "</urlset>\n")
	case parts[1] == "go" && page < h.pages:
		http.Redirect(to, request, w.path(number, page), http.StatusMovedPermanently)
	case parts[1] == "out":
		other := (number + 1 + page) % len(w.hosts)
		http.Redirect(to, request, w.origin(other)+w.path(other, page%leastPages), http.StatusFound)
	case isPage:
		atomic.AddUint32(&h.requested[page], 1)
		body, etag := w.page(number, page)
		to.Header().Set("ETag", etag)
		if request.Header.Get("If-None-Match") == etag {
			to.WriteHeader(http.StatusNotModified)
			return
		}
		to.Header().Set("Content-Type", "text/html; charset=utf-8")
		to.Header().Set("Content-Length", strconv.Itoa(len(body)))
		to.Write(body)
	default:
		http.NotFound(to, request)
	}
}

func (w *web) answerBenchmark(to http.ResponseWriter, request *http.Request) {
	switch request.URL.Path {
	case "/seeds":
		for number := range w.hosts {
			fmt.Fprintf(to, "%s/\n", w.origin(number))
		}
	case "/change":
		share, _ := strconv.ParseFloat(request.FormValue("share"), 64)
		w.changed.Store(math.Float64bits(share))
	case "/truth", "/requests":
		for number := range w.hosts {
			h := &w.hosts[number]
			for page := range h.requested {
				of, at, isNear, version := w.content(number, page)
				if h.kind > slow {
					continue
				} else if request.URL.Path == "/truth" {
					fmt.Fprintf(to, "%s%s\t%d/%d/%d", w.origin(number), w.path(number, page), of, at, version)
					if isNear {
						fmt.Fprintf(to, "/%d/%d", number, page)
					}
					fmt.Fprintln(to)
				} else if times := atomic.SwapUint32(&h.requested[page], 0); times != 1 {
					fmt.Fprintf(to, "%s%s\t%d\n", w.origin(number), w.path(number, page), times)
				}
			}
		}
		if request.URL.Path == "/requests" {
			var used syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &used)
			seconds := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
			fmt.Fprintf(to, "forbidden\t%d\ncpu\t%.2f\n", w.forbidden.Swap(0), seconds)
		}
	}
}

func main() {
	seed, pages := flag.Uint64("seed", 1, "of all chance"), flag.Int("pages", 20_000, "of all hosts")
	port := flag.Int("port", 0, "that an earlier web had")
	flag.Parse()
	w := newWeb(*seed, *pages)
	onLoopback := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, "lo")
		})
		return
	}}
	// The next port is that of hosts that refuse: bound, and not listened to.
	var listener net.Listener
	for isFree := false; !isFree; {
		if listener != nil {
			listener.Close()
		}
		var err error
		if listener, err = onLoopback.Listen(context.Background(), "tcp4", fmt.Sprintf("0.0.0.0:%d", *port)); err != nil {
			fmt.Fprintln(os.Stderr, "cannot listen on loopback alone:", err)
			os.Exit(1)
		}
		w.port = listener.Addr().(*net.TCPAddr).Port
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		isFree = err == nil && syscall.Bind(socket, &syscall.SockaddrInet4{Port: w.port + 1}) == nil
	}
	fmt.Println(w.port)
	panic(http.Serve(listener, w))
}
