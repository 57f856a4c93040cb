-- For wrk: the request is a POST of the JSON that is given behind the address.
function init(args)
  wrk.method = "POST"
  wrk.body = args[1]
  wrk.headers["Content-Type"] = "application/json"
end
