package io.batchweave.store.s3;

import io.batchweave.store.ListedObject;
import java.io.ByteArrayInputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * The few XML documents of S3. Bounded: the input is bytes whose length was limited before, depth
 * and text are limited here, and there are no DTDs and no external entities.
 */
final class S3Xml {
  private static final int MAX_DEPTH = 16;
  private static final int MAX_TEXT_CHARS = 16 * 1024;

  private static final XMLInputFactory FACTORY = newFactory();

  /** One page of a LIST, with keys as the service knows them. */
  record Page(List<ListedObject> objects, boolean truncated, String continuationToken) {}

  /** The interesting part of an error; empty texts where it was not said. */
  record ErrorBody(String code, String message, String region) {
    static final ErrorBody NONE = new ErrorBody("", "", "");
  }

  /** A key that a multi-object delete could not delete. */
  record DeleteFailure(String key, String code) {}

  /** Gets each element with its path ({@code /Error/Code}) and the text directly in it. */
  private interface Visitor {
    void end(String path, String text) throws XMLStreamException;
  }

  private S3Xml() {}

  private static XMLInputFactory newFactory() {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    factory.setProperty(XMLInputFactory.IS_NAMESPACE_AWARE, true);
    factory.setProperty(XMLInputFactory.IS_COALESCING, false);
    return factory;
  }

  private static void visit(byte[] document, Visitor visitor) throws XMLStreamException {
    XMLStreamReader reader;
    synchronized (FACTORY) {
      reader = FACTORY.createXMLStreamReader(new ByteArrayInputStream(document));
    }
    Deque<StringBuilder> texts = new ArrayDeque<>();
    Deque<String> paths = new ArrayDeque<>();
    paths.push("");
    while (reader.hasNext()) {
      switch (reader.next()) {
        case XMLStreamConstants.START_ELEMENT -> {
          if (paths.size() > MAX_DEPTH) {
            throw new XMLStreamException("nested deeper than " + MAX_DEPTH);
          }
          paths.push(paths.element() + "/" + reader.getLocalName());
          texts.push(new StringBuilder());
        }
        case XMLStreamConstants.CHARACTERS, XMLStreamConstants.CDATA, XMLStreamConstants.SPACE -> {
          if (!texts.isEmpty()) {
            texts.element().append(reader.getText());
            if (texts.element().length() > MAX_TEXT_CHARS) {
              throw new XMLStreamException("text longer than " + MAX_TEXT_CHARS);
            }
          }
        }
        case XMLStreamConstants.END_ELEMENT -> visitor.end(paths.pop(), texts.pop().toString());
        case XMLStreamConstants.DTD, XMLStreamConstants.ENTITY_REFERENCE ->
            throw new XMLStreamException("a DTD or an entity");
        default -> {
          // Comments and the like say nothing.
        }
      }
    }
    reader.close();
  }

  /** Reads one page of ListObjectsV2. */
  static Page parseList(byte[] document) throws XMLStreamException {
    List<ListedObject> objects = new ArrayList<>();
    String[] fields = {"", "", "", ""}; // key, size, truncated, token
    boolean[] sawRoot = {false};
    visit(
        document,
        (path, text) -> {
          switch (path) {
            case "/ListBucketResult/Contents/Key" -> fields[0] = text;
            case "/ListBucketResult/Contents/Size" -> fields[1] = text;
            case "/ListBucketResult/Contents" -> {
              objects.add(new ListedObject(fields[0], number(fields[1])));
              fields[0] = "";
              fields[1] = "";
            }
            case "/ListBucketResult/IsTruncated" -> fields[2] = text.trim();
            case "/ListBucketResult/NextContinuationToken" -> fields[3] = text;
            case "/ListBucketResult" -> sawRoot[0] = true;
            default -> {
              // Owners, dates, storage classes.
            }
          }
        });
    if (!sawRoot[0]) {
      throw new XMLStreamException("not a ListBucketResult");
    }
    return new Page(objects, fields[2].equals("true"), fields[3]);
  }

  private static long number(String text) throws XMLStreamException {
    try {
      long number = Long.parseLong(text.trim());
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Refused below.
    }
    throw new XMLStreamException("not a size: " + text);
  }

  /** Reads which keys a multi-object delete could not delete. */
  static List<DeleteFailure> parseDelete(byte[] document) throws XMLStreamException {
    List<DeleteFailure> failures = new ArrayList<>();
    String[] fields = {"", ""}; // key, code
    boolean[] sawRoot = {false};
    visit(
        document,
        (path, text) -> {
          switch (path) {
            case "/DeleteResult/Error/Key" -> fields[0] = text;
            case "/DeleteResult/Error/Code" -> fields[1] = text;
            case "/DeleteResult/Error" -> failures.add(new DeleteFailure(fields[0], fields[1]));
            case "/DeleteResult" -> sawRoot[0] = true;
            default -> {
              // Keys that were deleted.
            }
          }
        });
    if (!sawRoot[0]) {
      throw new XMLStreamException("not a DeleteResult");
    }
    return failures;
  }

  /**
   * Reads the texts of one element.
   *
   * @param path of the element, for example {@code /LifecycleConfiguration/Rule/Status}
   * @throws XMLStreamException if the document has another root
   */
  static List<String> parseTexts(byte[] document, String path) throws XMLStreamException {
    List<String> texts = new ArrayList<>();
    String root = path.substring(0, path.indexOf('/', 1));
    boolean[] sawRoot = {false};
    visit(
        document,
        (at, text) -> {
          sawRoot[0] |= at.equals(root);
          if (at.equals(path)) {
            texts.add(text.trim());
          }
        });
    if (!sawRoot[0]) {
      throw new XMLStreamException("not a " + root.substring(1));
    }
    return texts;
  }

  /** Reads an error; {@link ErrorBody#NONE} where the bytes are something else. */
  static ErrorBody parseError(byte[] document) {
    String[] fields = {"", "", ""}; // code, message, region
    try {
      visit(
          document,
          (path, text) -> {
            switch (path) {
              case "/Error/Code" -> fields[0] = text.trim();
              case "/Error/Message" -> fields[1] = text.trim();
              case "/Error/Region" -> fields[2] = text.trim();
              default -> {
                // Request ids.
              }
            }
          });
    } catch (XMLStreamException e) {
      return ErrorBody.NONE;
    }
    return new ErrorBody(fields[0], fields[1], fields[2]);
  }

  /** Writes the body of a multi-object delete; our keys need no escaping. */
  static String deleteBody(List<String> fullKeys) {
    StringBuilder text = new StringBuilder(64 + fullKeys.size() * 100);
    text.append("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for (String key : fullKeys) {
      text.append("<Object><Key>").append(key).append("</Key></Object>");
    }
    return text.append("</Delete>").toString();
  }
}
