package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// swarm is many clients who act at the same moment, each over a connection of its own. They cost less than those of
// net/http, so that the service has the processors. Over a store of several slots every second one asks the other instance.
type swarm struct {
	t       *testing.T
	clients []*fasthttp.HostClient
}

func newSwarm(t *testing.T, service *running, size int) *swarm {
	t.Helper()
	s := &swarm{t: t}
	at := service.instances()
	for n := range size {
		s.clients = append(s.clients, &fasthttp.HostClient{
			Addr: strings.TrimPrefix(at[n%len(at)].base, "http://"), MaxConns: 1, ReadTimeout: 20 * time.Second, MaxIdemponentCallAttempts: 1,
		})
	}
	t.Cleanup(func() {
		for _, c := range s.clients {
			c.CloseIdleConnections()
		}
	})
	return s
}

// attack has every client of the swarm send one request at once, and returns the answers.
func (s *swarm) attack(key string, request func(client int) (path, body string)) []answer {
	answers := make([]answer, len(s.clients))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(len(s.clients))
	for i, c := range s.clients {
		path, body := request(i)
		done.Go(func() {
			ready.Done()
			<-start
			var err error
			if answers[i], err = ask(c, "http://"+c.Addr+path, key, body); err != nil {
				s.t.Errorf("%s: %v", path, err)
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return answers
}

// ask posts a body.
func ask(c *fasthttp.HostClient, url, key, body string) (a answer, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(url)
	request.Header.SetMethod(fasthttp.MethodPost)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.SetBodyString(body)
	if err := c.Do(request, response); err != nil {
		return a, err
	}
	a.HTTP, a.Raw = response.StatusCode(), append(a.Raw, response.Body()...)
	return a, json.Unmarshal(a.Raw, &a)
}

// outcomes counts answers by status and code, as in "403 DENIED SVC_LOOP_LIMIT_EXCEEDED".
type outcomes map[string]int

func count(answers []answer) outcomes {
	counted := outcomes{}
	for _, a := range answers {
		outcome := fmt.Sprintf("%d %s %s", a.HTTP, a.Status, a.Code)
		if a.Status == "ALLOWED" && a.Attestation == "" {
			outcome += "without an attestation"
		}
		counted[strings.TrimSpace(outcome)]++
	}
	return counted
}

// border says what is wrong where so many pass and all the others are refused in one way.
func (o outcomes) border(pass int, refused string) error {
	all := 0
	for _, n := range o {
		all += n
	}
	if o["200 ALLOWED"] != pass || o[refused] != all-pass {
		return fmt.Errorf("%v, and not %d allowed of %d", o, pass, all)
	}
	return nil
}
