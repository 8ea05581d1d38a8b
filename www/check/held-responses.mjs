/**
 * Delays the responses of a server to requests whose addresses match a pattern, as a slow network does. Returns the
 * function that sends the delayed responses.
 */
export function holdResponses(server, pattern) {
  const [answer] = server.listeners("request");
  let release;
  const released = new Promise((resolve) => {
    release = resolve;
  });
  const hold = async (request, response) => {
    if (pattern.test(request.url)) await released;
    answer(request, response);
  };
  server.off("request", answer).on("request", hold);
  return () => {
    if (server.listeners("request").includes(hold)) server.off("request", hold).on("request", answer);
    release();
  };
}
